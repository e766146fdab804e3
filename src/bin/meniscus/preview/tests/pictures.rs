//! Pictures of shapes with known answers.

use super::super::camera::{Camera, Projection};
use super::super::image::{Image, Rgb};
use super::super::render::{Quality, render};
use super::super::stage::{Collider, RenderScene, Shade};
use super::shapes;
use meniscus::geometry::TriMesh;
use meniscus::math::{Aabb, Pose, Vec3};
use meniscus::scene::Look;

/// A scene with the given liquid and colliders, seen by the automatic camera.
fn scene<'a>(surface: Option<&'a TriMesh>, colliders: &'a [Collider]) -> RenderScene<'a> {
    let liquid = surface.map_or(Aabb::empty(), |s| Aabb::of_points(s.positions.iter()));
    let bounds = colliders.iter().flat_map(|c| c.outline()).fold(liquid, |b, p| b.include(&p));
    RenderScene {
        surface,
        colliders,
        ground: Some(bounds.lo.y),
        camera: Camera::framing(&bounds.corners(), 16.0 / 9.0).unwrap(),
        shade: Shade::Water,
        tint: Rgb::new(0.50, 0.80, 0.88),
        tint_depth: 0.35 * bounds.size().norm(),
        touch: 0.003,
        bounds,
        fog: None,
    }
}

/// Pixels whose colour is not that of the upper left corner.
fn covered(image: &Image) -> usize {
    let far = |p: &[u8; 3]| (0..3).any(|a| p[a].abs_diff(image.pixels[0][a]) > 3);
    image.pixels.iter().filter(|p| far(p)).count()
}

/// A pool in a glass bowl with a ball in it, and a drop above.
fn bowl_with_pool(segments: usize) -> (TriMesh, Vec<Collider>) {
    let collider =
        |name: &str, mesh: &TriMesh, look| Collider::new(name, mesh, Pose::identity(), look).unwrap();
    let bowl = collider("bowl", &shapes::bowl(0.15, 0.006, 96), Look::Glass);
    let ball = collider("ball", &shapes::sphere(&Vec3::new(0.03, 0.075, 0.0), 0.05, 96), Look::Solid);
    let mut pool = shapes::pool_in_bowl(0.15, 0.1425, 0.10, segments);
    let mut drop = shapes::sphere(&Vec3::new(-0.02, 0.19, 0.02), 0.018, 64);
    drop.attributes = pool.attributes.clone();
    drop.attributes[0].data = vec![1.0; 3 * drop.positions.len()];
    pool.append(&drop);
    (pool, vec![bowl, ball])
}

#[test]
#[ignore = "draws pictures to look at into target/pictures"]
fn pictures_to_look_at() {
    let folder = std::path::Path::new("target/pictures");
    std::fs::create_dir_all(folder).unwrap();
    let (pool, colliders) = bowl_with_pool(240);
    println!("{} triangles", pool.triangles.len());
    let shades = [("water", Shade::Water), ("clay", Shade::CLAY), ("speed", Shade::Speed { max: 2.0 })];
    for (name, shade) in shades {
        let scene = RenderScene { shade, ..scene(Some(&pool), &colliders) };
        let start = std::time::Instant::now();
        let image = render(&scene, [960, 540], Quality::Good).unwrap();
        println!("{name}: {:.2} s", start.elapsed().as_secs_f64());
        image.write_png(&folder.join(format!("{name}.png"))).unwrap();
    }
    let dam = shapes::column(0.1, 0.12, 48);
    let post = shapes::cuboid(&Vec3::new(0.02, 0.0, -0.02), &Vec3::new(0.06, 0.16, 0.02));
    let post = [Collider::new("post", &post, Pose::identity(), Look::Solid).unwrap()];
    let image = render(&scene(Some(&dam), &post), [960, 540], Quality::Good).unwrap();
    image.write_png(&folder.join("column.png")).unwrap();
    let ring = shapes::torus(&Vec3::new(0.0, 0.05, 0.0), 0.12, 0.05, 96);
    let honey = RenderScene { tint: Rgb::new(0.90, 0.42, 0.03), ..scene(Some(&ring), &[]) };
    render(&honey, [960, 540], Quality::Best).unwrap().write_png(&folder.join("honey.png")).unwrap();
}

#[test]
fn a_ball_covers_the_pixels_of_its_disc() {
    let mesh = shapes::sphere(&Vec3::zeros(), 1.0, 256);
    let camera = Camera {
        eye: Vec3::new(0.0, 0.0, 5.0),
        target: Vec3::zeros(),
        projection: Projection::Orthographic { height: 3.0 },
    };
    let scene = RenderScene { ground: None, camera, shade: Shade::CLAY, ..scene(Some(&mesh), &[]) };
    let image = render(&scene, [240, 240], Quality::Draft).unwrap();
    // Count pixel centres inside a circle of 80 pixels.
    let inside = |i: usize| {
        let place = [i % 240, i / 240].map(|p| p as f64 + 0.5 - 120.0);
        place[0] * place[0] + place[1] * place[1] < 80.0 * 80.0
    };
    let disc = (0..240 * 240).filter(|i| inside(*i)).count();
    // The mesh has 256 sides: it lies up to 80·(1 − cos(π/256)) = 0.006 pixels inside its circle.
    assert!(covered(&image).abs_diff(disc) <= 8, "{} {disc}", covered(&image));
}

#[test]
fn one_thread_and_three_draw_the_same_bits() {
    let (pool, colliders) = bowl_with_pool(48);
    let scene = scene(Some(&pool), &colliders);
    let draw = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| render(&scene, [96, 54], Quality::Good).unwrap())
    };
    assert_eq!(draw(1), draw(3));
}

#[test]
fn no_pixel_of_clear_liquid_is_black() {
    let (pool, colliders) = bowl_with_pool(48);
    let image = render(&scene(Some(&pool), &colliders), [192, 108], Quality::Draft).unwrap();
    let darkest = image.pixels.iter().map(|p| p.iter().max().unwrap()).min().unwrap();
    assert!(*darkest > 30, "{darkest}");
}

#[test]
fn a_liquid_without_colour_and_light_behind_is_brighter_than_a_tinted_one() {
    let ball = shapes::sphere(&Vec3::new(0.0, 0.1, 0.0), 0.1, 64);
    let mean = |tint: Rgb| {
        let scene = RenderScene { tint, ..scene(Some(&ball), &[]) };
        let image = render(&scene, [80, 80], Quality::Draft).unwrap();
        image.pixels.iter().map(|p| f64::from(p[0])).sum::<f64>()
    };
    assert!(mean(Rgb::new(1.0, 1.0, 1.0)) > 1.05 * mean(Rgb::new(0.2, 0.8, 0.9)));
}

#[test]
fn the_ground_is_seen_through_clear_water_that_stands_on_it() {
    let column = shapes::column(0.2, 0.1, 32);
    let camera = Camera {
        eye: Vec3::new(0.0, 2.0, 0.0),
        target: Vec3::zeros(),
        projection: Projection::Orthographic { height: 0.8 },
    };
    let clear = Rgb::new(1.0, 1.0, 1.0);
    let scene = RenderScene { camera, tint: clear, ..scene(Some(&column), &[]) };
    let image = render(&scene, [81, 81], Quality::Draft).unwrap();
    let (middle, open) = (image.pixel(40, 40), image.pixel(3, 40));
    // Straight down 2 % are mirrored and the water takes some of the light; no mirror, no black.
    for a in 0..3 {
        let share = f64::from(middle[a]) / f64::from(open[a]);
        assert!((0.6..1.1).contains(&share), "{middle:?} {open:?}");
    }
}

#[test]
fn what_cannot_be_drawn_is_an_error() {
    let ball = shapes::sphere(&Vec3::zeros(), 1.0, 16);
    let good = scene(Some(&ball), &[]);
    let size = [16, 9];
    assert!(render(&good, [0, 9], Quality::Draft).is_err());
    assert!(render(&good, [1 << 20, 9], Quality::Draft).is_err());
    let mut broken = ball.clone();
    broken.positions[5].x = f64::NAN;
    let message =
        render(&RenderScene { surface: Some(&broken), ..scene(Some(&ball), &[]) }, size, Quality::Draft);
    assert!(message.unwrap_err().to_string().contains("vertex 5"));
    let nowhere = RenderScene { ground: Some(f64::NAN), ..scene(Some(&ball), &[]) };
    assert!(render(&nowhere, size, Quality::Draft).is_err());
    // No liquid yet is a picture of the ground, not an error.
    let empty = TriMesh::default();
    render(&RenderScene { surface: Some(&empty), ..scene(Some(&ball), &[]) }, size, Quality::Draft).unwrap();
}
