//! The operations of the DAG level.

use piper_ir::AttrConstraint as A;
use piper_ir::TypeConstraint as T;
use piper_ir::dialect_ops;
use piper_ir::interfaces::infer_types::like_first_operand;

use super::{infer, verify};

/// Every value of a graph has this type.
const DIST: T = T::Dialect("dag.dist");

dialect_ops! {
    /// The global training step as a graph.
    ///
    /// One node is one compute chunk, transfer or collective, SPMD over a slice of the mesh. Data edges are SSA operands;
    /// the schedule is kept apart, in `dag.order`. `microbatches` is the size of the time axis `mb`, `resources` what the pass
    /// `resource` recorded.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["dp" = 2]>
    /// func.func private @model()
    /// func.func private @forward(tensor<4x4xf32>) -> tensor<f32>
    /// dag.graph @step of @model on @cluster microbatches 1 {
    ///   %x = dag.input "x" : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"dp", "mb"}, {}]>
    ///   %part = dag.compute @forward(%x) F {MB = 0, PP = 0} node "f0" -> !dag.dist<tensor<f32>, @cluster, partial = {"dp", mb[0:1]}>
    ///   %loss = dag.all_reduce %part over ["dp"] -> !dag.dist<tensor<f32>, @cluster, partial = {mb[0:1]}>
    ///   dag.output "loss" %loss : !dag.dist<tensor<f32>, @cluster, partial = {mb[0:1]}>
    /// }
    /// ```
    Graph = "dag.graph" {
        attrs: {
            sym_name: one(A::Str),
            function: one(A::Symbol),
            mesh: one(A::Symbol),
            microbatches: optional(A::Int),
            resources: optional(A::Array),
        },
        regions: { body: one },
        traits: [Symbol, IsolatedFromAbove, GraphRegion, SingleBlock, NoTerminator],
        format: "$sym_name `of` $function `on` $mesh (`microbatches` $microbatches^)? attr-dict-with-keyword $body",
        verify: verify::graph,
    }

    /// A tensor of data that the step is given, or its slice of one microbatch on one slice of the mesh.
    ///
    /// ```mlir
    /// %batch = dag.input "x" : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1, pp = 0}, [{"dp", "mb"}, {}]>
    /// ```
    Input = "dag.input" {
        results: { value: one(DIST) },
        attrs: { name: one(A::Str) },
        traits: [Pure],
        format: "$name attr-dict `:` type($value)",
    }

    /// A parameter as it is at the beginning of the step. `init` is its initialiser.
    ///
    /// With `flat` no device holds it as it is: its elements are those that the flat `dag.state` of this name says, and its value is
    /// not used (ZeRO-3).
    ///
    /// ```mlir
    /// %b = dag.parameter "b" {init = #nn.init<normal<0.0, 0.02>>} : !dag.dist<tensor<4xf32>, @cluster on {pp = 1}>
    /// ```
    Parameter = "dag.parameter" {
        results: { value: one(DIST) },
        attrs: { name: one(A::Str), init: one(A::Any), flat: optional(A::Str) },
        format: "$name (`in` $flat^)? attr-dict `:` type($value)",
        verify: verify::parameter,
    }

    /// A piece of optimizer state (a moment, a sharded master copy) as it is at the beginning of the step.
    ///
    /// `init` is a number it is filled with, or the names of the parameters it is a flat copy of (`bucket`: names with the
    /// offsets of their first elements, in elements).
    ///
    /// ```mlir
    /// %v = dag.state "w.second_moment" {init = 0.0} : !weight
    /// ```
    State = "dag.state" {
        results: { value: one(DIST) },
        attrs: { name: one(A::Str), init: one(A::Any) },
        format: "$name attr-dict `:` type($value)",
        verify: verify::state,
    }

    /// Calls a chunk's body with local shapes.
    ///
    /// `node` is its name in orders and messages, `kind` its pass (`F`, `B`, `BI` or `BW`), `tags` those of its operations and,
    /// once split, `MB`.
    ///
    /// ```mlir
    /// %y = dag.compute @stage(%x, %w) F {MB = 0, PP = 0} node "f0.0" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0, pp = 0}, [{"dp", "mb"}, {}]>
    /// ```
    Compute = "dag.compute" {
        operands: { inputs: many(DIST) },
        results: { outputs: many(DIST) },
        attrs: {
            callee: one(A::Symbol),
            node: one(A::Str),
            kind: one(A::Enum(&["F", "B", "BI", "BW"])),
            tags: one(A::Dict),
        },
        format: "$callee `(` $inputs `)` $kind $tags `node` $node attr-dict result-types",
        verify: verify::compute,
    }

    /// Moves a value to another slice of the mesh.
    ///
    /// ```mlir
    /// %there = dag.transfer %x -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0, pp = 1}, [{"dp", "mb"}, {}]>
    /// ```
    Transfer = "dag.transfer" {
        operands: { value: one(DIST) },
        results: { moved: one(DIST) },
        format: "$value attr-dict result-types",
        verify: verify::transfer,
    }

    /// Adds partial sums of one tensor that hold different contributions, which are united.
    ///
    /// The mesh axes they are partial over are equal; a contribution that is in both is an error.
    ///
    /// ```mlir
    /// %g0 = dag.input "g0" : !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, partial = {"dp", mb[0:1]}>
    /// %g1 = dag.input "g1" : !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, partial = {"dp", mb[1:2]}>
    /// %both = dag.add %g0, %g1 -> !part
    /// ```
    Add = "dag.add" {
        operands: { a: one(DIST), b: one(DIST) },
        results: { sum: one(DIST) },
        format: "$a `,` $b attr-dict result-types",
        verify: verify::add,
    }

    /// Takes one value on each slice of a group together: a value on the group, partial over it.
    ///
    /// The values hold the same contributions (of different data) or different ones, which are united.
    ///
    /// ```mlir
    /// %g0 = dag.input "g0" : !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, partial = {"dp", mb[0:1]}>
    /// %g1 = dag.input "g1" : !dag.dist<tensor<4xf32>, @cluster on {pp = 1}, partial = {"dp", mb[1:2]}>
    /// %both = dag.join %g0, %g1 -> !dag.dist<tensor<4xf32>, @cluster on @ends, partial = {"dp", "ends"}>
    /// ```
    Join = "dag.join" {
        operands: { values: many(DIST) },
        results: { joined: one(DIST) },
        format: "$values attr-dict result-types",
        verify: verify::join,
    }

    /// A group's value as it is on one of its slices, or on a group of some of them. The value must not be partial over the group.
    ///
    /// ```mlir
    /// %tied = dag.input "tied" : !dag.dist<tensor<4xf32>, @cluster on @ends>
    /// %here = dag.project %tied -> !dag.dist<tensor<4xf32>, @cluster on {pp = 1}>
    /// ```
    Project = "dag.project" {
        operands: { value: one(DIST) },
        results: { here: one(DIST) },
        format: "$value attr-dict result-types",
        verify: verify::project,
    }

    /// Sums a partial value over axes; every device gets the sum.
    ///
    /// As with all collectives, `after` names a compute node behind which it is issued.
    ///
    /// ```mlir
    /// %sum = dag.all_reduce %grad over ["dp"] -> !weight
    /// ```
    AllReduce = "dag.all_reduce" {
        operands: { value: one(DIST) },
        results: { sum: one(DIST) },
        attrs: { axes: one(A::Array), after: optional(A::Symbol) },
        format: "$value `over` $axes attr-dict result-types",
        infer: infer::all_reduce,
        verify: verify::all_reduce,
    }

    /// Sums a partial value over axes; every device gets its shard of dimension 0.
    ///
    /// ```mlir
    /// %mine = dag.reduce_scatter %grad over ["dp"] -> !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, [{"dp"}]>
    /// ```
    ReduceScatter = "dag.reduce_scatter" {
        operands: { value: one(DIST) },
        results: { shard: one(DIST) },
        attrs: { axes: one(A::Array), after: optional(A::Symbol) },
        format: "$value `over` $axes attr-dict result-types",
        infer: infer::reduce_scatter,
        verify: verify::reduce_scatter,
    }

    /// Puts the shards of dimension 0 together; every device gets the whole.
    ///
    /// `after` names compute nodes after which it is issued, so that what is gathered does not fill memory before it is wanted.
    ///
    /// ```mlir
    /// %mine = dag.reduce_scatter %grad over ["dp"] -> !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, [{"dp"}]>
    /// %whole = dag.all_gather %mine over ["dp"] -> !weight
    /// ```
    AllGather = "dag.all_gather" {
        operands: { shard: one(DIST) },
        results: { value: one(DIST) },
        attrs: { axes: one(A::Array), after: optional(A::Any) },
        format: "$shard `over` $axes (`after` $after^)? attr-dict result-types",
        infer: infer::all_gather,
        verify: verify::all_gather,
    }

    /// Moves shards from one dimension to another: axes, the most minor ones of dimension `from`, shard dimension `to` instead, where
    /// they are the most minor ones too.
    ///
    /// How tokens get to the devices of their experts, and back.
    ///
    /// ```mlir
    /// %tokens = dag.input "t" : !dag.dist<tensor<8x4xf32>, @cluster, [{"dp"}, {}]>
    /// %there = dag.all_to_all %tokens over ["dp"] from 0 to 1 -> !dag.dist<tensor<8x4xf32>, @cluster, [{}, {"dp"}]>
    /// ```
    AllToAll = "dag.all_to_all" {
        operands: { value: one(DIST) },
        results: { moved: one(DIST) },
        attrs: { axes: one(A::Array), from: one(A::Int), to: one(A::Int), after: optional(A::Symbol) },
        format: "$value `over` $axes `from` $from `to` $to attr-dict result-types",
        infer: infer::all_to_all,
        verify: verify::all_to_all,
    }

    /// Lays tensors out one after the other in a flat tensor, padded with zeros.
    ///
    /// `offsets` are those of their first elements.
    ///
    /// ```mlir
    /// %flat = dag.pack %w, %m at array<i64: 0, 4> -> !dag.dist<tensor<10xf32>, @cluster on {pp = 0}>
    /// ```
    Pack = "dag.pack" {
        operands: { values: many(DIST) },
        results: { flat: one(DIST) },
        attrs: { offsets: one(A::IntArray) },
        format: "$values `at` $offsets attr-dict result-types",
        verify: verify::pack,
    }

    /// The tensors laid out in a flat tensor.
    ///
    /// ```mlir
    /// %flat = dag.pack %w, %m at array<i64: 0, 4> -> !dag.dist<tensor<10xf32>, @cluster on {pp = 0}>
    /// %parts:2 = dag.unpack %flat at array<i64: 0, 4> -> (!weight, !weight)
    /// ```
    Unpack = "dag.unpack" {
        operands: { flat: one(DIST) },
        results: { values: many(DIST) },
        attrs: { offsets: one(A::IntArray) },
        format: "$flat `at` $offsets attr-dict result-types",
        verify: verify::pack,
    }

    /// The same values in another element type, rounded to the nearest.
    ///
    /// ```mlir
    /// %low = dag.cast %w -> !dag.dist<tensor<4xbf16>, @cluster on {pp = 0}>
    /// ```
    Convert = "dag.cast" {
        operands: { value: one(DIST) },
        results: { converted: one(DIST) },
        traits: [Pure],
        format: "$value attr-dict result-types",
        verify: verify::cast,
    }

    /// The complete gradient of a parameter (or of a flat bucket of them).
    ///
    /// What optimizers read, and what is compared between strategies: it verifies only if nothing is missing from it.
    ///
    /// ```mlir
    /// %sum = dag.all_reduce %grad over ["dp"] -> !weight
    /// %complete = dag.gradient "w" %sum -> !weight
    /// ```
    Gradient = "dag.gradient" {
        operands: { value: one(DIST) },
        results: { complete: one(DIST) },
        attrs: { name: one(A::Str) },
        format: "$name $value attr-dict result-types",
        infer: like_first_operand,
        verify: verify::gradient,
    }

    /// The sum of the squares of all elements of its operands, as one `f64` (a rank-0 tensor).
    ///
    /// Partial over the axes that shard the operands.
    ///
    /// ```mlir
    /// %squares = dag.sum_squares %w, %m -> !number
    /// ```
    SumSquares = "dag.sum_squares" {
        operands: { values: many(DIST) },
        results: { sum: one(DIST) },
        format: "$values attr-dict result-types",
        verify: verify::sum_squares,
    }

    /// The sum of complete numbers (rank-0 tensors).
    ///
    /// ```mlir
    /// %a = dag.sum_squares %w -> !number
    /// %b = dag.sum_squares %m -> !number
    /// %all = dag.sum %a, %b -> !number
    /// ```
    Sum = "dag.sum" {
        operands: { values: many(DIST) },
        results: { sum: one(DIST) },
        format: "$values attr-dict result-types",
        verify: verify::sum,
    }

    /// The factor that limits the global gradient norm: `min(1, max_norm / (sqrt(sum) + 1e-6))`.
    ///
    /// ```mlir
    /// %squares = dag.sum_squares %w -> !number
    /// %scale = dag.clip_scale %squares max 1.0 -> !number
    /// ```
    ClipScale = "dag.clip_scale" {
        operands: { sum: one(DIST) },
        results: { scale: one(DIST) },
        attrs: { max_norm: one(A::Number) },
        format: "$sum `max` $max_norm attr-dict result-types",
    }

    /// One optimizer step of a tensor: reads the parameter, its complete gradient and the optimizer's state, gives new ones.
    ///
    /// Operands: parameter, gradient, then the rule's state (`sgd`: none, or the momentum; `adamw`: first and second moment), then
    /// the clipping factor if there is one (`clipped`). Results: new parameter, new state. `hyper` holds the rule's numbers,
    /// `lr` the learning rate, a number or a schedule.
    ///
    /// ```mlir
    /// %sum = dag.all_reduce %grad over ["dp"] -> !weight
    /// %complete = dag.gradient "w" %sum -> !weight
    /// %new:2 = dag.update sgd(%w, %complete, %m) lr = 0.1 {momentum = 0.9} -> (!weight, !weight)
    /// ```
    Update = "dag.update" {
        operands: { inputs: many(DIST) },
        results: { outputs: many(DIST) },
        attrs: { rule: one(A::Enum(&["sgd", "adamw"])), lr: one(A::Any), hyper: one(A::Dict), clipped: optional(A::Unit) },
        format: "$rule `(` $inputs `)` `lr` `=` $lr $hyper (`clipped` $clipped^)? attr-dict result-types",
        verify: verify::update,
    }

    /// Makes a value the state's content from the next step on. Comes after every reader of the old content.
    ///
    /// ```mlir
    /// %sum = dag.all_reduce %grad over ["dp"] -> !weight
    /// %complete = dag.gradient "w" %sum -> !weight
    /// %new:2 = dag.update sgd(%w, %complete, %m) lr = 0.1 {momentum = 0.9} -> (!weight, !weight)
    /// dag.commit %w, %new#0 : !weight
    /// ```
    Commit = "dag.commit" {
        operands: { state: one(DIST), value: one(DIST) },
        format: "$state `,` $value attr-dict (`:` type($state)^)?",
        verify: verify::commit,
    }

    /// A number the step reports: the sum of its operands, which hold each contribution once.
    ///
    /// ```mlir
    /// %l0 = dag.input "l0" : !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[0:1]}>
    /// %l1 = dag.input "l1" : !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[1:2]}>
    /// dag.output "loss" %l0, %l1 : !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[0:1]}>, !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[1:2]}>
    /// ```
    Output = "dag.output" {
        operands: { parts: many(DIST) },
        attrs: { name: one(A::Str) },
        format: "$name $parts attr-dict (`:` type($parts)^)?",
        verify: verify::output,
    }

    /// The order of compute nodes on a slice of the mesh: a list of slots, each a list of node names.
    ///
    /// Slots run one after the other. The members of a slot may overlap; until a pass linearises them they run in the order given.
    ///
    /// ```mlir
    /// %y = dag.compute @stage(%x, %w) F {MB = 0, PP = 0} node "f0.0" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0, pp = 0}, [{"dp", "mb"}, {}]>
    /// %z = dag.compute @stage(%y, %w) F {MB = 0, PP = 1} node "f1.0" -> !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0, pp = 0}, [{"dp", "mb"}, {}]>
    /// dag.order on {pp = 0} [[@f0.0], [@f1.0]]
    /// ```
    Order = "dag.order" {
        attrs: { slice: one(A::Dict), slots: one(A::Array) },
        format: "`on` $slice $slots attr-dict",
        verify: verify::order,
    }
}
