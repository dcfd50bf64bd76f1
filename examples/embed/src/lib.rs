//! Piper inside another program: a model is built in code, a pass of the program's own runs over it, the strategy is
//! compiled for four virtual devices and trained on arrays of the program's own. Nothing is printed and nothing global is set;
//! see `docs/embed-rust.md`.

#![forbid(unsafe_code)]

pub mod model;
pub mod pass;

use piper::plan::DType;
use piper::{CompileOptions, Compiler, Failure, Message, Numbers, TensorValue};

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The model as text.
    pub text: String,
    /// What passes remarked.
    pub remarks: Vec<Message>,
    /// The loss of each step.
    pub losses: Vec<f64>,
    /// The largest gradient of the last step, by parameter.
    pub gradients: Vec<(String, f64)>,
    /// Planned bytes of each device.
    pub memory: Vec<u64>,
}

/// Builds, compiles and trains for `steps` steps.
///
/// # Errors
/// Whatever is wrong, as messages with their places.
pub fn run(steps: u64) -> Result<Outcome, Failure> {
    let mut compiler = Compiler::new();
    compiler.register_pass(pass::widest_layer())?;

    let mut program = compiler.program("classifier");
    model::build(&mut program.module).map_err(|error| Failure::new(error.to_string()))?;
    program.verify()?;
    let text = program.text();
    let remarks = compiler.run(&mut program, "print-widest-layer")?;

    let options = CompileOptions { gradients: true, ..CompileOptions::default() };
    let executable = compiler.compile(program, &options)?;
    let mut training = executable.train(piper::runtime::Options::default())?;
    let (mut losses, mut gradients) = (Vec::new(), Vec::new());
    for step in 0..steps {
        let report = training.step(&batch(step))?;
        losses.extend(report.number("loss"));
        gradients = report
            .tensors()
            .map(|(name, tensor)| {
                let largest = tensor.to_f64().into_iter().map(f64::abs).fold(0.0, f64::max);
                (name.to_owned(), largest)
            })
            .collect();
    }
    let memory = training.memory().into_iter().map(|memory| memory.planned).collect();
    Ok(Outcome { text, remarks, losses, gradients, memory })
}

/// Tokens, and after each the next one of a sequence that counts: something that can be learnt.
fn batch(step: u64) -> Numbers {
    let token = |i: i64| (i * 7 + step as i64 * 3) % model::VOCABULARY;
    let elements = model::BATCH * model::LENGTH;
    let array = |shift: i64| TensorValue {
        shape: vec![model::BATCH as u64, model::LENGTH as u64],
        dtype: DType::I32,
        bytes: (0..elements).flat_map(|i| (token(i + shift) as i32).to_ne_bytes()).collect(),
    };
    Numbers::from([("tokens".to_owned(), array(0)), ("targets".to_owned(), array(1))])
}
