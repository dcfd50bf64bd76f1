//! A `piper-opt` of one's own: all of Piper's passes, and one more.

use piper_ir::pass::PassInfo;

fn main() -> std::process::ExitCode {
    let mut passes = piper_passes::registry::all();
    passes.register([PassInfo::from_fn("print-roots", "Count the outermost operations", |cx| {
        let (count, loc) = (cx.module.top_level().len(), cx.module.op_loc(cx.op));
        cx.remark(loc, format!("{count} operation(s)"));
        Ok(())
    })]);
    piper_opt::main(passes, piper_dialects::all())
}
