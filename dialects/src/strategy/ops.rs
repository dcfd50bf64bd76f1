//! The operations, one declaration each.

use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

use super::{
    filter, homes, mesh_syntax as mesh, optimizer, order, recompute, resource, shard, table,
    verify, verify_resource,
};

const SLICE: A = A::Pred("a mesh slice such as {pp = 0}", |ctx, attr| {
    super::Slice::from_attr(ctx, attr).is_some()
});
const FILTER: A = A::Pred("a tag filter such as {PP = 1, MB = *}", |ctx, attr| {
    super::filter_of(ctx, attr).is_some()
});

/// How long gathered parameters are kept.
const GATHER: A = A::Pred("\"microbatch\", \"keep\" or a number of buckets", |ctx, attr| {
    attr.as_str(ctx).is_some() || attr.as_int(ctx).is_some()
});

dialect_ops! {
    /// The cluster: a grid of devices with named axes.
    ///
    /// `strategy.mesh @cluster <["pp" = 4, "dp" = 2]>` has 8 devices. They are numbered row-major: the last axis varies
    /// fastest. Axis names are unique and sizes at least 1. Directives may be over a part of an axis: `"dp:(2)4"` is the factor 4 of
    /// "dp" = 2 x 4 x ..., after a factor of 2.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 4, "dp" = 2]>
    /// ```
    MeshOp = "strategy.mesh" {
        attrs: { sym_name: one(A::Str), axes: one(A::Array), sizes: one(A::IntArray) },
        traits: [Symbol],
        syntax: (mesh::parse, mesh::print),
        verify: verify::mesh,
    }

    /// Several slices of a mesh that hold one thing together: an axis of its own, of as many points as slices.
    ///
    /// `strategy.group @own0 on @cluster [{pp = 0}, {pp = 3}]` may stand wherever an axis may. The slices are disjoint.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 4, "dp" = 2]>
    /// strategy.group @own0 on @cluster [{pp = 0}, {pp = 3}]
    /// ```
    GroupOp = "strategy.group" {
        attrs: { sym_name: one(A::Str), mesh: one(A::Symbol), slices: one(A::Array) },
        traits: [Symbol],
        format: "$sym_name `on` $mesh $slices attr-dict",
        verify: verify::group,
    }

    /// Tags the operations in its region.
    ///
    /// Tags are names with an integer or a string. Annotations nest; an inner value of a tag wins over an outer one. The
    /// region's values leave through `strategy.yield`. The pass `import-tags` turns annotations into `tags` attributes.
    ///
    /// ```mlir module
    /// func.func @model(%x: tensor<4x16xf32>, %w: tensor<16x16xf32>) -> tensor<4x16xf32> {
    ///   %h = strategy.annotate {PP = 0} {
    ///     %y = nn.linear %x, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    ///     strategy.yield %y : tensor<4x16xf32>
    ///   } : tensor<4x16xf32>
    ///   func.return %h : tensor<4x16xf32>
    /// }
    /// ```
    AnnotateOp = "strategy.annotate" {
        results: { outputs: many(T::Any) },
        attrs: { tags: one(A::Dict) },
        regions: { body: one },
        traits: [SingleBlock],
        format: "$tags $body attr-dict (`:` type($outputs)^)?",
        verify: verify::annotate,
    }

    /// Ends an annotated region; its operands are the results of the annotation.
    ///
    /// ```mlir module
    /// func.func @model(%x: tensor<4x16xf32>, %w: tensor<16x16xf32>) -> tensor<4x16xf32> {
    ///   %h = strategy.annotate {PP = 0} {
    ///     %y = nn.linear %x, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    ///     strategy.yield %y : tensor<4x16xf32>
    ///   } : tensor<4x16xf32>
    ///   func.return %h : tensor<4x16xf32>
    /// }
    /// ```
    YieldOp = "strategy.yield" {
        operands: { values: many(T::Any) },
        traits: [Terminator, Pure],
        format: "($values^ `:` type($values))? attr-dict",
        verify: verify::yields,
    }

    /// A training strategy: directives for a function on a mesh, applied in text order.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
    /// func.func private @loss()
    /// strategy.plan @train for @loss on @cluster {
    ///   strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 8
    ///   strategy.zero over "dp" stage = 1
    ///   strategy.optimizer adamw <lr = 3.0e-4, weight_decay = 0.1, clip = 1.0>
    /// }
    /// ```
    PlanOp = "strategy.plan" {
        attrs: { sym_name: one(A::Str), function: one(A::Symbol), mesh: one(A::Symbol) },
        regions: { body: one },
        traits: [Symbol, NoTerminator, SingleBlock],
        format: "$sym_name `for` $function `on` $mesh $body attr-dict",
        verify: verify::plan,
    }

    /// Runs the stages of a tag as a pipeline along a mesh axis, by a named schedule.
    ///
    /// Stage numbers are the values of the tag, 0 to n-1 in data-flow order. Expands to `split`, `place` for each stage,
    /// `split_backward` where the schedule separates input and weight gradients, and `order` for each rank. `group` and
    /// `overlap` are options of interleaved1f1b. `count` says how many stages the schedule has where some are empty: numbers below
    /// it that no operation has are skipped, and values go straight to where they are used.
    ///
    /// ```mlir
    /// strategy.pipeline over "pp" stages = "PP" count = 8 schedule = "interleaved1f1b" microbatches = 8
    /// strategy.pipeline over "pp" stages = "PP" schedule = "interleaved1f1b" microbatches = 8 group = 4 overlap
    /// ```
    PipelineOp = "strategy.pipeline" {
        attrs: {
            axis: one(A::Str), stages: one(A::Str), schedule: one(A::Str), microbatches: one(A::Int),
            group: optional(A::Int), overlap: optional(A::Unit), count: optional(A::Int),
        },
        format: "`over` $axis `stages` `=` $stages (`count` `=` $count^)? `schedule` `=` $schedule `microbatches` `=` $microbatches (`group` `=` $group^)? (`overlap` $overlap^)? attr-dict",
        verify: verify::pipeline,
    }

    /// Runs the stages of a tag by DualPipe: microbatches enter the pipeline from both ends.
    ///
    /// Every stage lives on two ranks. `variant = "v"` is DualPipeV: two stages a rank, the model goes down the ranks and
    /// comes back, and parameters are held once. `count` is as for `pipeline`.
    ///
    /// ```mlir
    /// strategy.dualpipe over "pp" stages = "PP" microbatches = 8 variant = "v"
    /// ```
    DualPipeOp = "strategy.dualpipe" {
        attrs: {
            axis: one(A::Str), stages: one(A::Str), microbatches: one(A::Int),
            variant: optional(A::Pred("\"v\" or \"bidirectional\"", |ctx, attr| {
                matches!(attr.as_str(ctx), Some("v" | "bidirectional"))
            })),
            count: optional(A::Int),
        },
        format: "`over` $axis `stages` `=` $stages (`count` `=` $count^)? `microbatches` `=` $microbatches (`variant` `=` $variant^)? attr-dict",
        verify: verify::dualpipe,
    }

    /// Divides the parts of a model into stages: tag `stages` gets the numbers of the stages.
    ///
    /// In the text a letter is a part of the model and `|` ends a stage; `*3` repeats the letter or the group in parentheses before it. The
    /// k-th `t` is what is tagged `t = k` (from 0), and so on for every letter. Two bars in a row leave a stage empty. Expands to
    /// `tag`.
    ///
    /// ```mlir
    /// strategy.layout stages = "PP" "Et*3|(tt|)*29,m|L"
    /// ```
    LayoutOp = "strategy.layout" {
        attrs: { stages: one(A::Str), layout: one(A::Str) },
        format: "`stages` `=` $stages $layout attr-dict",
        verify: verify::layout,
    }

    /// Gives what a filter selects a further tag, before anything else looks at tags.
    ///
    /// A tag that is there already gets the new value.
    ///
    /// ```mlir
    /// strategy.tag {LAYER = 0:4} as {PP = 0}
    /// ```
    TagOp = "strategy.tag" {
        attrs: { filter: one(FILTER), tags: one(A::Dict) },
        syntax: (filter::parse_tag, filter::print_tag),
        verify: verify::tag,
    }

    /// Runs the stages of a tag by a schedule that is written out: a row for each coordinate of the axis.
    ///
    /// A row is in the order language, as in `order`, or a line of torch's pipeline-schedule CSV. Microbatches are those that the rows
    /// name; a stage lives where its actions stand. Expands as `pipeline` does.
    ///
    /// ```mlir
    /// strategy.table over "pp" stages = "PP" rows = ["0F0 0F1 0B0 0B1", "1F0,1B0,1F1,1B1", "2F0 (2B0 | 2F1) 2B1", "3F0 3I0 3F1 3I1 3W0 3W1"]
    /// ```
    TableOp = "strategy.table" {
        attrs: { axis: one(A::Str), stages: one(A::Str), rows: one(A::Array) },
        syntax: (table::parse, table::print),
        verify: verify::table_op,
    }

    /// Data parallelism with sharded optimizer state, gradients or parameters along a mesh axis.
    ///
    /// Stage 0 shards nothing; 1 the optimizer state (gradients are reduce-scattered, parameters gathered); 2 gradients too; 3
    /// parameters too. Expands to `replicate`, which has the same options:
    ///
    /// - `bucket`: the most bytes of the flat buffers that are communicated, 25MiB if neither that nor a group is written;
    /// - `group`: `"segment"` or a tag, whose values buckets do not mix;
    /// - `gather` (stage 3): how long gathered parameters are kept: `"microbatch"` (for one pass of one microbatch), `"keep"` (to the end
    ///   of the step), or a number of buckets. Not written: `"keep"` in a pipeline, else `"microbatch"`;
    /// - `prefetch` (stage 3): how many uses ahead a gather is issued, 0 if not written;
    /// - `reduce` (from stage 2): gradients are reduced after `"each"` microbatch or after the `"last"`. Not written: `"last"` in a
    ///   pipeline (memory is then that of stage 1 until the last microbatch), else `"each"`.
    ///
    /// ```mlir
    /// strategy.zero over "dp" stage = 1 bucket = "25MiB"
    /// ```
    ZeroOp = "strategy.zero" {
        attrs: {
            axis: one(A::Str), stage: one(A::Int), bucket: optional(A::Str), group: optional(A::Str), gather: optional(GATHER),
            prefetch: optional(A::Int), reduce: optional(A::Str),
        },
        format: "`over` $axis `stage` `=` $stage (`bucket` `=` $bucket^)? (`group` `=` $group^)? (`gather` `=` $gather^)? (`prefetch` `=` $prefetch^)? (`reduce` `=` $reduce^)? attr-dict",
        verify: verify::zero,
    }

    /// Copies what is placed so far along a mesh axis: the batch is divided, gradients are reduced.
    ///
    /// `zero` is the stage of ZeRO, 0 if not written; the options are those of `strategy.zero`.
    ///
    /// ```mlir
    /// strategy.replicate over "dp" zero = 3 group = "segment" gather = "microbatch" prefetch = 1 reduce = "each"
    /// ```
    ReplicateOp = "strategy.replicate" {
        attrs: {
            axis: one(A::Str), zero: optional(A::Int), bucket: optional(A::Str), group: optional(A::Str), gather: optional(GATHER),
            prefetch: optional(A::Int), reduce: optional(A::Str),
        },
        format: "`over` $axis (`zero` `=` $zero^)? (`bucket` `=` $bucket^)? (`group` `=` $group^)? (`gather` `=` $gather^)? (`prefetch` `=` $prefetch^)? (`reduce` `=` $reduce^)? attr-dict",
        verify: verify::replicate,
    }

    /// Trains every parameter with an optimizer. Expands to `update`.
    ///
    /// `adamw <lr = 3.0e-4, betas = [0.9, 0.95], eps = 1.0e-8, weight_decay = 0.1, clip = 1.0>` or
    /// `sgd <lr = 0.1, momentum = 0.9>`. Options not written: betas = [0.9, 0.999], eps = 1e-8, no decay, no clipping, no
    /// momentum. Weight decay is decoupled; `clip` bounds the global gradient norm. The learning rate is a number or
    /// `warmup_cosine<peak, floor, warmup, total>`, `warmup_linear<peak, floor, warmup, total>` or
    /// `warmup_constant<peak, warmup>` over steps; either way the programs take it as a runtime scalar.
    ///
    /// ```mlir
    /// strategy.optimizer adamw <lr = warmup_cosine<peak = 3.0e-4, floor = 3.0e-5, warmup = 20, total = 300>, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
    /// ```
    OptimizerOp = "strategy.optimizer" {
        attrs: {
            algorithm: one(A::Enum(optimizer::ALGORITHMS)), lr: one(A::Any), betas: optional(A::Array), eps: optional(A::Number),
            weight_decay: optional(A::Number), clip: optional(A::Number), momentum: optional(A::Number),
        },
        syntax: (optimizer::parse, optimizer::print),
        verify: verify::optimizer,
    }

    /// The primitive behind `optimizer`: updates every parameter at the end of the step. Options as there.
    ///
    /// ```mlir
    /// strategy.update sgd <lr = 0.1, momentum = 0.9>
    /// ```
    UpdateOp = "strategy.update" {
        attrs: {
            algorithm: one(A::Enum(optimizer::ALGORITHMS)), lr: one(A::Any), betas: optional(A::Array), eps: optional(A::Number),
            weight_decay: optional(A::Number), clip: optional(A::Number), momentum: optional(A::Number),
        },
        syntax: (optimizer::parse, optimizer::print),
        verify: verify::optimizer,
    }

    /// Computes in another element type than parameters are kept in.
    ///
    /// Parameters, the optimizer's state and gradients are in the `master` type, that of the model's parameters; `reduce`, the type in
    /// which gradients are added and reduced, is the same. What chunks compute, and what is gathered and sent between them, is in
    /// the `compute` type; numbers such as the loss are in the master type.
    ///
    /// ```mlir
    /// strategy.precision compute = bf16 master = f32 reduce = f32
    /// ```
    PrecisionOp = "strategy.precision" {
        attrs: { compute: one(A::Type), master: optional(A::Type), reduce: optional(A::Type) },
        format: "`compute` `=` $compute (`master` `=` $master^)? (`reduce` `=` $reduce^)? attr-dict",
        verify: verify::precision,
    }

    /// Places what a filter selects on a slice of the mesh, or on several.
    ///
    /// With several homes `microbatches` says which range runs where, end excluded:
    /// `strategy.place {PP = 0} on [{pp = 0}, {pp = 3}] microbatches = [0:4, 4:8]`.
    ///
    /// ```mlir
    /// strategy.place {PP = 0} on {pp = 0}
    /// strategy.place {PP = 1} on [{pp = 0}, {pp = 3}] microbatches = [0:4, 4:8]
    /// ```
    PlaceOp = "strategy.place" {
        attrs: { filter: one(FILTER), homes: one(A::Array), microbatches: optional(A::Array) },
        syntax: (homes::parse, homes::print),
        verify: verify::place,
    }

    /// Divides the parameters of what a filter selects along a mesh axis, and its computation with them.
    ///
    /// `parameters` says which dimension of which parameter is divided; names may have `*`, the first that matches decides, and
    /// others stay whole. What is computed from a divided parameter is divided as the operations' factor rules say. Collectives
    /// stand at the boundaries of the selected segments: a partial sum that leaves is all-reduced, and where the batch is divided
    /// over the same axis (`replicate` or `zero` after it), values are exchanged (all-to-all), as tokens with the ranks that hold
    /// their experts.
    ///
    /// ```mlir
    /// strategy.shard {PART = mlp} over "dp" parameters = {"*.up" = 1, "*.down" = 0}
    /// ```
    ShardOp = "strategy.shard" {
        attrs: { filter: one(FILTER), axis: one(A::Str), parameters: one(A::Array) },
        syntax: (shard::parse, shard::print),
        verify: verify::shard,
    }

    /// Divides the batch into parts that are run one by one; each copy gets its number as a tag of this name.
    ///
    /// ```mlir
    /// strategy.split "MB" into 8
    /// ```
    SplitOp = "strategy.split" {
        attrs: { tag: one(A::Str), parts: one(A::Int) },
        format: "$tag `into` $parts attr-dict",
        verify: verify::split,
    }

    /// What one rank runs, in order.
    ///
    /// The row is written in the order language: `0F1` is the forward of stage 0 for microbatch 1, `B` the backward, `I` and
    /// `W` its halves, and `(0F2 | 0B0)` may overlap. Stages are values of the tag. One order for each rank. A row with commas is a
    /// line of torch's pipeline-schedule CSV: `0F0,0F1,,(0F2;0B0)OVERLAP_F_B`.
    ///
    /// ```mlir
    /// strategy.order stages = "PP" on {pp = 0} "0F0 (0F1 | 0B0) 0I1 0W1"
    /// ```
    OrderOp = "strategy.order" {
        attrs: { stages: one(A::Str), slice: one(SLICE), row: one(A::Str) },
        syntax: (order::parse, order::print),
        verify: verify::order,
    }

    /// Cuts the backward of what a filter selects into input gradient (`BI`) and weight gradient (`BW`).
    ///
    /// ```mlir
    /// strategy.split_backward {PP = 0|2, PASS = B}
    /// ```
    SplitBackwardOp = "strategy.split_backward" {
        attrs: { filter: one(FILTER) },
        syntax: (filter::parse_op, filter::print_op),
        verify: verify::split_backward,
    }

    /// Computes forward values again in the backward instead of keeping them.
    ///
    /// What a filter selects is whole segments: the backward of each takes the segment's inputs and runs the forward it needs
    /// again, so that between forward and backward only these inputs are alive. `only = ["nn.gelu", ...]` recomputes
    /// what operations of these names make and keeps the rest. Directives apply in text order, a later one to a segment
    /// instead of an earlier one; `none` recomputes nothing.
    ///
    /// Where the backward is split, `BI` recomputes what it needs, what only `BW` needs is recomputed there, and what both
    /// need is kept between them; with `weights = "again"` nothing recomputed is kept and `BW` computes it once more.
    ///
    /// ```mlir
    /// strategy.recompute {PP = *}
    /// strategy.recompute {PP = 0|1, MB = 0:4} only = ["nn.rms_norm", "nn.gelu"]
    /// strategy.recompute {PP = 2} weights = "again"
    /// strategy.recompute {PP = 3} none
    /// ```
    RecomputeOp = "strategy.recompute" {
        attrs: {
            filter: one(FILTER), none: optional(A::Unit), only: optional(A::Array),
            weights: optional(A::Pred("\"keep\" or \"again\"", |ctx, attr| {
                matches!(attr.as_str(ctx), Some("keep" | "again"))
            })),
        },
        syntax: (recompute::parse, recompute::print),
        verify: verify::recompute,
    }

    /// Gives work to streams and streams to parts of a device.
    ///
    /// **A stream** takes compute nodes, transfers or collectives from the two streams that every program has, `compute` and
    /// `comm`. Work is one of `compute`, `transfer`, `exchange` (a collective between compute nodes: of activations and their
    /// gradients), `all_to_all`, `all_reduce`, `reduce_scatter`, `all_gather`; `over` names an axis, a filter selects compute
    /// nodes. The first directive that takes something has it.
    ///
    /// **A partition** is a number of multiprocessors (`sms`) of an architecture, or of `workers` of a CPU, with the streams that
    /// run there. `ctas` and `min_ctas` bound the thread blocks of its communicators, under the limits of the version `nccl`. With
    /// `method = "grid"` the number is kept by persistent grids, so that any is possible; otherwise the driver sets the
    /// multiprocessors aside in the granularity of the architecture.
    ///
    /// **`interleave`** runs the members of a slot so that one direction computes while the other's exchange over the axis is in
    /// flight.
    ///
    /// ```mlir
    /// strategy.resource stream "a2a" for exchange over "dp"
    /// strategy.resource stream "weights" for compute {PASS = BW}
    /// strategy.resource interleave over "dp"
    /// strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["a2a", "comm"] ctas = 20
    /// ```
    ResourceOp = "strategy.resource" {
        attrs: {
            stream: optional(A::Str), work: optional(A::Array), over: optional(A::Str), filter: optional(FILTER),
            interleave: optional(A::Str), partition: optional(A::Str), arch: optional(A::Str), sms: optional(A::Int),
            workers: optional(A::Int), streams: optional(A::Array), ctas: optional(A::Int), min_ctas: optional(A::Int),
            nccl: optional(A::Str), method: optional(A::Enum(resource::METHODS)), total: optional(A::Int),
        },
        syntax: (resource::parse, resource::print),
        verify: verify_resource::resource,
    }

    /// Hides the exchanges over an axis: within a slot of several members, one direction computes while the other communicates.
    ///
    /// Expands to a stream for the exchanges, `split_backward` if nothing splits the backward yet (weight gradients fill what
    /// is left), and `resource interleave`. With `off` the members run in the order given, to see what the order gains.
    ///
    /// ```mlir
    /// strategy.overlap over "dp" stream = "a2a"
    /// ```
    OverlapOp = "strategy.overlap" {
        attrs: { axis: one(A::Str), stream: optional(A::Str), off: optional(A::Unit) },
        format: "`over` $axis (`stream` `=` $stream^)? (`off` $off^)? attr-dict",
        verify: verify_resource::overlap,
    }

    /// Divides the multiprocessors of each device between communication and computation.
    ///
    /// `comm` of them go to the streams named, the rest to `compute` and other streams of compute nodes. Expands to two
    /// `resource partition`s; options as there.
    ///
    /// ```mlir
    /// strategy.sm_partition arch = "sm_90" comm = 24 streams = ["comm"] ctas = 20
    /// strategy.sm_partition arch = "sm_90" comm = 20 streams = ["comm"] method = "grid"
    /// ```
    SmPartitionOp = "strategy.sm_partition" {
        attrs: {
            arch: optional(A::Str), comm: optional(A::Int), streams: optional(A::Array), ctas: optional(A::Int),
            min_ctas: optional(A::Int), nccl: optional(A::Str), method: optional(A::Enum(resource::METHODS)), total: optional(A::Int),
        },
        syntax: (resource::parse_share, resource::print_share),
        verify: verify_resource::sm_partition,
    }
}
