//! The sizes of everything that may stand as an axis in a graph's types.

use piper_ir::{Module, Op};

use super::{AxisSizes, Graph, MICROBATCH};

impl AxisSizes {
    /// The axes of a `dag.graph`: those of its mesh in mesh order, the groups around it (their size is their number of
    /// slices), and `mb` with the graph's microbatches. A mesh or group that does not verify is left out.
    pub fn of_graph(module: &Module, graph: Op) -> Self {
        let ctx = module.ctx();
        let mut sizes = Vec::new();
        let Some(view) = Graph::cast(module, graph) else { return Self(sizes) };
        let mesh = view.mesh(module).as_symbol(ctx);
        let mesh = mesh.and_then(|name| module.lookup_nearest(graph, name.text(ctx)));
        if let Some(mesh) = mesh {
            let names = module.attr_by(mesh, "axes").and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
            let counts =
                module.attr_by(mesh, "sizes").and_then(|a| a.as_int_array(ctx)).unwrap_or(&[]);
            let axes = names.iter().zip(counts);
            sizes.extend(axes.filter_map(|(name, &n)| Some((ctx.name(name.as_str(ctx)?), n))));
        }
        if let Some(block) = module.parent_block(graph) {
            for op in module.ops(block).filter(|op| module.name_text(*op) == "strategy.group") {
                let slices = module.attr_by(op, "slices").and_then(|a| a.as_array(ctx));
                if let (Some(name), Some(slices)) = (module.symbol_name(op), slices) {
                    sizes.push((ctx.name(name), slices.len() as i64));
                }
            }
        }
        let microbatches = view.microbatches(module).and_then(|m| m.as_int(ctx)).unwrap_or(1);
        sizes.push((ctx.name(MICROBATCH), microbatches));
        Self(sizes)
    }
}
