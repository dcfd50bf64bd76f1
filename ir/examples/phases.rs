//! Times of reading, checking and printing one file: `cargo run --release -p piper-ir --example phases -- FILE [RUNS]`.
//! Prints the least of the runs, in milliseconds, with the bytes that one operation takes.

use std::sync::Arc;
use std::time::Instant;

use piper_ir::text::{PrintOptions, parse_module, write_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Reporter, SourceFile};

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("a file");
    let runs: usize = args.next().map_or(5, |n| n.parse().expect("a number of runs"));
    let mut least = [f64::INFINITY; 4];
    let mut shape = (0, 0);
    for _ in 0..runs {
        let mut ctx = Context::new([]);
        ctx.allow_unregistered = true;
        let ctx = Arc::new(ctx);
        let mut reporter = Reporter::new(&ctx);
        let mut times = [0.0; 4];
        let mut timed = |phase: usize, start: Instant| {
            times[phase] = start.elapsed().as_secs_f64() * 1e3;
        };
        let start = Instant::now();
        let source = SourceFile::new(&file, std::fs::read_to_string(&file).expect("readable"));
        timed(0, start);
        let start = Instant::now();
        let module = parse_module(&ctx, &source, &mut reporter).expect("it parses");
        timed(1, start);
        let start = Instant::now();
        assert!(verify(&module, &mut reporter));
        timed(2, start);
        let start = Instant::now();
        let mut bytes = 0;
        let generic = PrintOptions { generic: true, ..PrintOptions::default() };
        write_module(&module, generic, &mut |text| {
            bytes += text.len();
            Ok(())
        })
        .expect("nothing is written");
        timed(3, start);
        shape = (module.op_capacity(), bytes);
        for (least, time) in least.iter_mut().zip(times) {
            *least = least.min(time);
        }
    }
    let (ops, bytes) = shape;
    println!("{ops} operations, {bytes} bytes printed");
    for (phase, time) in ["read", "parse", "verify", "print"].iter().zip(least) {
        println!("{phase:>8} {time:8.1} ms {:6.0} ns/op", time * 1e6 / ops as f64);
    }
}
