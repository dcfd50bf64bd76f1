//! A pass of the program's own.

use piper::Pass;
use piper::dialects::nn::Linear;

/// Remarks which linear layer has the largest weight.
pub fn widest_layer() -> Pass {
    Pass::from_fn("print-widest-layer", "Remarks which linear layer is the widest", |cx| {
        let module = &*cx.module;
        let ctx = module.ctx();
        let size = |layer: &Linear| {
            let (shape, _) = module.ty(layer.w(module)).as_tensor(ctx)?;
            Some(shape.iter().product::<i64>())
        };
        let layers = module.walk(cx.op).filter_map(|op| Linear::cast(module, op));
        if let Some(widest) = layers.max_by_key(size) {
            let weights = size(&widest).unwrap_or_default();
            let loc = module.op_loc(widest.0);
            cx.remark(loc, format!("the widest layer has {weights} weights"));
        }
        Ok(())
    })
}
