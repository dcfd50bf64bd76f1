//! The order of launch of a pair, from the graph to the device program, beside the published one.

use std::fmt::Write;
use std::sync::Arc;

use piper_ir::text::parse_module;
use piper_ir::verify::verify;
use piper_ir::{Context, Module, Reporter, SourceFile};
use piper_schedule::overlap::{Direction, Piece, pair_order};

use crate::lower_to_device::{self, Options};
use crate::nodes::graphs;

/// What a piece is called in both directions.
fn name(piece: Piece, direction: Direction, layer: usize) -> String {
    let piece = match piece {
        Piece::Attention => "attn",
        Piece::Dispatch => "dispatch",
        Piece::Mlp => "mlp",
        Piece::Combine => "combine",
    };
    let direction = match direction {
        Direction::Forward => "fwd",
        Direction::Input => "bwd",
        Direction::Weight => "dw",
    };
    format!("{piece}_{direction}{layer}")
}

/// One device with the forward of microbatch 1 and the backward of microbatch 0 in a slot: layers of attention and experts. What the
/// backward begins with is made before.
fn graph(layers: usize) -> String {
    let home = |mb: usize| {
        (
            format!(
                "!dag.dist<tensor<8x4xf32>, @cluster on {{mb = {mb}}}, [{{\"mb\", \"ep\"}}, {{}}]>"
            ),
            format!(
                "!dag.dist<tensor<8x4xf32>, @cluster on {{mb = {mb}}}, [{{\"mb\"}}, {{\"ep\"}}]>"
            ),
        )
    };
    let weight = "!dag.dist<tensor<4xf32>, @cluster on {mb = 0}, partial = {\"ep\", mb[0:1]}>";
    let (mut ops, mut forward, mut backward, mut weights) =
        (String::new(), Vec::new(), Vec::new(), Vec::new());
    let (tokens, there) = home(1);
    let mut line = |text: String| writeln!(ops, "  {text}").expect("a string");
    line(format!("%x = dag.input \"x\" : {tokens}"));
    let mut at = "x".to_owned();
    for layer in 0..layers {
        let [a, d, m, c] = [Piece::Attention, Piece::Dispatch, Piece::Mlp, Piece::Combine]
            .map(|piece| name(piece, Direction::Forward, layer));
        line(format!("%{a} = dag.compute @attn(%{at}) F {{MB = 1}} node \"{a}\" -> {tokens}"));
        line(format!("%{d} = dag.all_to_all %{a} over [\"ep\"] from 0 to 1 -> {there}"));
        line(format!("%{m} = dag.compute @mlp(%{d}) F {{MB = 1}} node \"{m}\" -> {there}"));
        line(format!("%{c} = dag.all_to_all %{m} over [\"ep\"] from 1 to 0 -> {tokens}"));
        forward.extend([a, m]);
        at = c;
    }
    let (tokens, there) = home(0);
    line(format!("%y = dag.input \"y\" : {tokens}"));
    line(format!("%dy = dag.compute @attn(%y) B {{MB = 0}} node \"head\" -> {tokens}"));
    let mut at = "dy".to_owned();
    for layer in (0..layers).rev() {
        let [c, m, d, a] = [Piece::Combine, Piece::Mlp, Piece::Dispatch, Piece::Attention]
            .map(|piece| name(piece, Direction::Input, layer));
        let [mw, aw] = [Piece::Mlp, Piece::Attention].map(|p| name(p, Direction::Weight, layer));
        line(format!("%{c} = dag.all_to_all %{at} over [\"ep\"] from 0 to 1 -> {there}"));
        line(format!("%{m} = dag.compute @mlp(%{c}) BI {{MB = 0}} node \"{m}\" -> {there}"));
        line(format!("%{mw} = dag.compute @mlp_w(%{m}) BW {{MB = 0}} node \"{mw}\" -> {weight}"));
        line(format!("%{d} = dag.all_to_all %{m} over [\"ep\"] from 1 to 0 -> {tokens}"));
        line(format!("%{a} = dag.compute @attn(%{d}) BI {{MB = 0}} node \"{a}\" -> {tokens}"));
        line(format!("%{aw} = dag.compute @attn_w(%{a}) BW {{MB = 0}} node \"{aw}\" -> {weight}"));
        backward.extend([m, a.clone()]);
        weights.extend([mw, aw]);
        at = a;
    }
    let members: Vec<String> =
        [forward, backward, weights].concat().iter().map(|n| format!("@{n}")).collect();
    format!(
        r#"strategy.mesh @cluster <["ep" = 2]>
func.func private @model()
func.func private @attn(tensor<2x4xf32>) -> tensor<2x4xf32>
func.func private @mlp(tensor<4x2xf32>) -> tensor<4x2xf32>
func.func private @attn_w(tensor<2x4xf32>) -> tensor<4xf32>
func.func private @mlp_w(tensor<4x2xf32>) -> tensor<4xf32>
dag.graph @step of @model on @cluster microbatches 2 {{
{ops}  dag.order on {{}} [[@head], [{}]]
}}
"#,
        members.join(", ")
    )
}

/// The launches and exchanges of the one program behind the head, in order of issue.
fn issued(layers: usize, interleave: bool) -> Vec<String> {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let source = SourceFile::new("pair.pir", graph(layers));
    let module = parse_module(&ctx, &source, &mut reporter).filter(|m| verify(m, &mut reporter));
    let mut module = module.unwrap_or_else(|| panic!("{:?}", reporter.take()));
    let graph = graphs(&module)[0];
    if interleave {
        let loc = module.op_loc(graph);
        let slots = super::run(&mut module, graph, "ep", loc, &mut reporter);
        assert_eq!(slots.ok(), Some(1), "{:?}", reporter.take());
    }
    lower_to_device::run(&mut module, &mut reporter, Options::default())
        .unwrap_or_else(|_| panic!("{:?}", reporter.take()));
    listing(&module)
}

fn listing(module: &Module) -> Vec<String> {
    let plan = crate::emit_plan::device_plans(module)[0];
    let program = module.ops(module.only_block(plan).expect("a plan has a block")).last();
    let block = module.only_block(program.expect("a program")).expect("a program has a block");
    let is_work =
        |op: &piper_ir::Op| matches!(module.name_text(*op), "device.launch" | "device.all_to_all");
    let name = |op| module.attr_by(op, "name").and_then(|n| n.as_str(module.ctx())).unwrap_or("");
    module.ops(block).filter(is_work).map(|op| name(op).to_owned()).skip(1).collect()
}

#[test]
fn a_pair_is_launched_in_the_published_order() {
    for layers in [1, 2, 4] {
        let published: Vec<String> = (0..layers)
            .flat_map(|layer| {
                pair_order().iter().map(move |&(piece, direction, _)| {
                    let back = direction != Direction::Forward;
                    name(piece, direction, if back { layers - 1 - layer } else { layer })
                })
            })
            .collect();
        assert_eq!(issued(layers, true), published, "{layers} layers");
    }
}

#[test]
fn without_turns_the_members_run_as_they_are_given() {
    let given = issued(1, false);
    let computed: Vec<&String> =
        given.iter().filter(|name| name.starts_with("attn") || name.starts_with("mlp")).collect();
    assert_eq!(computed, ["attn_fwd0", "mlp_fwd0", "mlp_bwd0", "attn_bwd0", "mlp_dw0", "attn_dw0"]);
}
