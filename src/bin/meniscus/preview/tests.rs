//! Pictures of shapes with known answers.

use super::camera::{Camera, Projection};
use super::image::{Image, Rgb};
use super::render::{Quality, render};
use super::shapes;
use super::stage::{Collider, RenderScene, Shade};
use meniscus::geometry::TriMesh;
use meniscus::math::{Aabb, Pose, Vec3};
use meniscus::scene::Look;

/// A scene with the given liquid and colliders, seen by the automatic camera.
fn scene<'a>(surface: Option<&'a TriMesh>, colliders: &'a [Collider]) -> RenderScene<'a> {
    let liquid = surface.map_or(Aabb::empty(), |s| Aabb::of_points(s.positions.iter()));
    let bounds = colliders.iter().fold(liquid, |b, c| b.union(&c.bounds()));
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
    }
}

/// Pixels whose colour is not that of the upper left corner.
fn covered(image: &Image) -> usize {
    let far = |p: &[u8; 3]| (0..3).any(|a| p[a].abs_diff(image.pixels[0][a]) > 3);
    image.pixels.iter().filter(|p| far(p)).count()
}

#[test]
#[ignore = "draws pictures to look at into target/pictures"]
fn pictures_to_look_at() {
    let folder = std::path::Path::new("target/pictures");
    std::fs::create_dir_all(folder).unwrap();
    let bowl = Collider::new("bowl", &shapes::bowl(0.15, 0.006, 96), Pose::identity(), Look::Glass).unwrap();
    let ball_mesh = shapes::sphere(&Vec3::new(0.03, 0.075, 0.0), 0.05, 96);
    let ball = Collider::new("ball", &ball_mesh, Pose::identity(), Look::Solid).unwrap();
    let mut pool = shapes::pool_in_bowl(0.15, 0.1425, 0.10, 240);
    let drop = shapes::sphere(&Vec3::new(-0.02, 0.19, 0.02), 0.018, 64);
    let mut drop = TriMesh { attributes: pool.attributes.clone(), ..drop };
    drop.attributes[0].data = vec![1.0; 3 * drop.positions.len()];
    pool.append(&drop);
    println!("{} triangles", pool.triangles.len());
    let colliders = [bowl, ball];
    let shades = [("water", Shade::Water), ("clay", Shade::Clay), ("speed", Shade::Speed { max: 2.0 })];
    for (name, shade) in shades {
        let scene = RenderScene { shade, ..scene(Some(&pool), &colliders) };
        let start = std::time::Instant::now();
        let image = render(&scene, [960, 540], Quality::Good).unwrap();
        println!("{name}: {:.2} s", start.elapsed().as_secs_f64());
        image.write_png(&folder.join(format!("{name}.png"))).unwrap();
    }
}

#[test]
fn a_ball_covers_the_pixels_of_its_disc() {
    let mesh = shapes::sphere(&Vec3::zeros(), 1.0, 256);
    let camera = Camera {
        eye: Vec3::new(0.0, 0.0, 5.0),
        target: Vec3::zeros(),
        projection: Projection::Orthographic { height: 3.0 },
    };
    let scene = RenderScene { ground: None, camera, shade: Shade::Clay, ..scene(Some(&mesh), &[]) };
    let image = render(&scene, [240, 240], Quality::Draft).unwrap();
    let disc = std::f64::consts::PI * 80f64.powi(2);
    let count = covered(&image) as f64;
    assert!((count - disc).abs() < 60.0, "{count} {disc}");
}
