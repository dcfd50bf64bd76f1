//! A `piper-opt` of one's own: all of Piper's passes, and one more.

use std::process::ExitCode;

use piper_ir::pass::{Origin, PassInfo};

fn main() -> ExitCode {
    let mut passes = piper_passes::registry::all();
    let origin = Origin::Host("my-opt".into());
    if let Err(why) = passes.try_register(print_roots().from_origin(origin)) {
        eprintln!("error: {why}");
        return ExitCode::FAILURE;
    }
    piper_opt::main(passes, piper_dialects::all())
}

fn print_roots() -> PassInfo {
    PassInfo::from_fn("print-roots", "Count the outermost operations", |cx| {
        let (count, loc) = (cx.module.top_level().len(), cx.module.op_loc(cx.op));
        cx.remark(loc, format!("{count} operation(s)"));
        Ok(())
    })
}
