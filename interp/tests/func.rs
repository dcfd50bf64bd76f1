//! Functions run: calls, parameters, errors with places.

use std::cell::RefCell;
use std::sync::Arc;

use piper_interp::{Tensor, func};
use piper_ir::text::parse_module;
use piper_ir::{Context, Module, Reporter, SourceFile, verify};

fn module(text: &str) -> Module {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter);
    if let Some(module) = &module {
        verify::verify(module, &mut reporter);
    }
    assert!(reporter.diagnostics().is_empty(), "{:?}", reporter.diagnostics());
    module.unwrap()
}

const CALLS: &str = r#"
func.func @block(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>) {
  %w = nn.parameter "w" init = constant<2.0> : tensor<3x3xf64>
  %y = nn.linear %x, %w : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
  %z = nn.scale %y {factor = -1.0} : tensor<2x3xf64>
  func.return %y, %z : tensor<2x3xf64>, tensor<2x3xf64>
}
func.func @main(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %b = nn.parameter "b" init = ones : tensor<2x3xf64>
  %a:2 = func.call @block(%x) : (tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>)
  %c:2 = func.call @block(%a#1) : (tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>)
  %s = nn.add %c#0, %b : tensor<2x3xf64>
  func.return %s : tensor<2x3xf64>
}
func.func @loop(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @loop(%x) : (tensor<f32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
func.func @look(%t: tensor<1x2xi32>) -> tensor<1x2x1xf32> {
  %w = nn.parameter "table" init = uniform<0.0, 1.0> : tensor<3x1xf32>
  %e = nn.embedding %t, %w : (tensor<1x2xi32>, tensor<3x1xf32>) -> tensor<1x2x1xf32>
  func.return %e : tensor<1x2x1xf32>
}
"#;

#[test]
fn calls_see_the_parameters_and_give_all_results() {
    let module = module(CALLS);
    let main = module.lookup(module.root(), "main").unwrap();
    let parameters = func::initial_parameters(&module, main).unwrap();
    assert_eq!(parameters.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["b", "w"]);
    let asked = RefCell::new(Vec::new());
    let x = Tensor::new([2, 3], vec![1.0, 2.0, 3.0, 0.0, 0.0, 1.0]).unwrap();
    let out = func::run(&module, main, &[x], &|name| {
        asked.borrow_mut().push(name.to_owned());
        parameters.iter().find(|(n, _)| n == name).unwrap().1.clone()
    })
    .unwrap();
    // Every value of w is 2: a row of y is twice the row's sum, and the second block sees its negation.
    assert_eq!(out[0].to_f64(), [-71.0, -71.0, -71.0, -11.0, -11.0, -11.0]);
    assert_eq!(*asked.borrow(), ["b", "w", "w"]);
}

#[test]
fn what_stops_a_run_is_said_with_its_place() {
    let module = module(CALLS);
    let message = |name: &str, args: &[Tensor]| {
        let f = module.lookup(module.root(), name).unwrap();
        let initial = func::initial_parameters(&module, f).unwrap();
        let error = func::run(&module, f, args, &|name| {
            initial.iter().find(|(n, _)| n == name).unwrap().1.clone()
        })
        .unwrap_err();
        let (file, line, _) = error.loc.file_position(module.ctx()).unwrap();
        format!("{file}:{line}: {error}")
    };
    assert_eq!(
        message("look", &[Tensor::new([1, 2], vec![0, 3]).unwrap()]),
        "t.pir:21: nn.embedding: tokens[1] = 3 is outside 0..3, the size of dimension V"
    );
    assert_eq!(
        message("main", &[Tensor::filled([2, 3], 0f32)]),
        "t.pir:8: argument 0 of '@main' has type tensor<2x3xf64>, but the value is f32 [2, 3]"
    );
    assert_eq!(message("main", &[]), "t.pir:8: '@main' takes 1 argument(s), not 0");
    assert_eq!(
        message("loop", &[Tensor::scalar(1f32)]),
        "t.pir:16: calls are nested more than 200 deep"
    );
}

#[test]
fn one_name_is_one_parameter() {
    let module = module(
        "func.func @f() {
           %a = nn.parameter \"w\" init = zeros : tensor<2xf32>
           %b = nn.parameter \"w\" init = ones : tensor<2xf32>
           func.return
         }",
    );
    let f = module.top_level()[0];
    let error = func::initial_parameters(&module, f).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter 'w' is declared twice, with different types or initialisers"
    );
}

/// Every `nn` operation can be evaluated but the parameter and what is only declared: an operation added to the dialect is not
/// forgotten here.
#[test]
fn every_operation_has_an_evaluator() {
    let ctx = Context::new(piper_dialects::all());
    let evaluators = func::Evaluators::new(&ctx);
    for def in piper_dialects::nn::dialect().ops {
        let known = evaluators.get(ctx.op_name(&def.name)).is_some();
        let has_none = def.name == "nn.parameter" || def.name.starts_with("nn.opaque");
        assert_eq!(known, !has_none, "{}", def.name);
    }
}
