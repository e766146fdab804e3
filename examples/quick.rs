use meniscus::scene::Scene;
use meniscus::simulation::{Settings, Simulation};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let frames: usize = a[2].parse().unwrap();
    let out = a.get(3).cloned();
    let scene = Scene::from_json(&text).unwrap();
    let t0 = std::time::Instant::now();
    let mut sim = Simulation::new(&scene, &|_| panic!(), &Settings::default()).unwrap();
    let r = sim.report();
    println!("init {:.2}s litres {:.4} particles {} cells {} tiles {}", t0.elapsed().as_secs_f64(), r.litres, r.particles, r.liquid_cells, r.tiles);
    for f in 0..frames {
        let r = sim.advance_frame(&mut |p| { if std::env::var("V").is_ok() { eprintln!("{p:?}"); } false }).unwrap();
        let st: Vec<String> = r.stage_seconds.iter().map(|s| format!("{:.0}", s.1 * 1e3)).collect();
        println!("f {} sub {} ({}) {:.2}s [{}] it {} litres {:.7}/{:.7} vmax {:.3e} parts {} cells {} tiles {}", r.frame, r.substeps, r.rule, r.seconds, st.join(" "), r.iterations, r.litres, r.litres_expected, r.max_speed, r.particles, r.liquid_cells, r.tiles);
        if std::env::var("F").is_ok() { let p = sim.particles(); let mut o: Vec<usize> = (0..p.len()).collect(); o.sort_by(|a, b| p.velocity[*b].norm().total_cmp(&p.velocity[*a].norm())); for i in o.iter().take(4) { println!("   {:?} r {:.4} {:?} id {}", p.position[*i].as_slice(), p.position[*i].xz().norm(), p.velocity[*i].as_slice(), p.id[*i]); } }
        if let Some(o) = &out { if f % 4 == 3 {
            std::fs::create_dir_all(o).unwrap();
            let m = sim.surface().unwrap();
            let mut s = String::new();
            for p in &m.positions { s += &format!("v {} {} {}\n", p.x, p.y, p.z); }
            for t in &m.triangles { s += &format!("f {} {} {}\n", t[0]+1, t[1]+1, t[2]+1); }
            std::fs::write(format!("{o}/{:04}.obj", r.frame), s).unwrap();
        }}
    }
}
