//! From a pipeline's text to the passes that run it.
//!
//! `piper_schedule::text::pipeline` knows the grammar, [`PassRegistry`] knows the passes; an error here says where in
//! the text it is, so that a tool can point at it.

use piper_ir::diag::did_you_mean;
use piper_ir::pass::{GivenOptions, Pass, PassInfo, PassManager, PassRegistry};
use piper_schedule::text::Span;
use piper_schedule::text::pipeline::{Body, Element, PassOption, Pipeline};

/// What is wrong with a pipeline, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineError {
    /// What is wrong.
    pub message: String,
    /// The bytes of the text it is about.
    pub span: Span,
    /// What to do about it.
    pub hint: Option<String>,
}

impl PipelineError {
    fn new(message: impl Into<String>, span: Span, hint: Option<String>) -> Self {
        Self { message: message.into(), span, hint }
    }
}

impl std::fmt::Display for PipelineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for PipelineError {}

/// One pass with options, as in `pipeline{schedule=1f1b}`.
#[derive(Clone, Debug)]
pub struct PassRequest {
    /// The pass's name.
    pub name: String,
    /// Options with values; without a value they mean `true`.
    pub options: Vec<(String, Option<String>)>,
}

/// The pipeline of a text such as `builtin.module(func.func(canonicalize{max-iterations=3}),cse)`. A list that is not
/// wrapped in an operation runs on the module.
///
/// # Errors
/// A text that is not a pipeline, names an unknown pass or option, gives a value an option does not take, or puts a pass
/// where it cannot run.
pub fn pass_manager(registry: &PassRegistry, text: &str) -> Result<PassManager, PipelineError> {
    let pipeline = read(text)?;
    let mut manager = PassManager::new("builtin.module");
    match &pipeline.elements[..] {
        [Element { name, body: Body::Nested(inner), .. }] if name == "builtin.module" => {
            fill(&mut manager, registry, inner)?;
        }
        _ => fill(&mut manager, registry, &pipeline)?,
    }
    Ok(manager)
}

/// The passes of a text that is a plain list, such as `split{into=4},canonicalize`: what one `--pass` names.
///
/// # Errors
/// As [`pass_manager`], and for a nested pipeline.
pub fn pass_list(registry: &PassRegistry, text: &str) -> Result<Vec<PassRequest>, PipelineError> {
    let pipeline = read(text)?;
    if pipeline.elements.is_empty() {
        return Err(PipelineError::new("no pass is named", Span::new(0, text.len()), None));
    }
    let request = |element: &Element| match &element.body {
        Body::Nested(_) => Err(PipelineError::new(
            format!("'{}(...)' is a nested pipeline, not a pass", element.name),
            element.span,
            Some("give nested pipelines to --pass-pipeline".to_owned()),
        )),
        Body::Pass(options) => {
            build(registry, element, options)?;
            Ok(PassRequest { name: element.name.clone(), options: given(options) })
        }
    };
    pipeline.elements.iter().map(request).collect()
}

/// A pipeline on the module that runs one pass; a pass for other operations is nested.
///
/// # Errors
/// As [`PassRegistry::build`].
pub fn single_pass(registry: &PassRegistry, request: &PassRequest) -> Result<PassManager, String> {
    let pass = registry.build(&request.name, &request.options)?;
    let mut manager = PassManager::new("builtin.module");
    match registry.get(&request.name).and_then(|info| info.anchor) {
        Some(anchor) if anchor != "builtin.module" => {
            let mut nested = PassManager::new(anchor);
            add(&mut nested, registry, &request.name, pass, request.options.clone());
            manager.nest(nested);
        }
        _ => add(&mut manager, registry, &request.name, pass, request.options.clone()),
    }
    Ok(manager)
}

/// Adds a pass, so that the pipeline can be written out again.
fn add(
    manager: &mut PassManager,
    registry: &PassRegistry,
    name: &str,
    pass: Box<dyn Pass>,
    options: GivenOptions,
) {
    match registry.get(name) {
        Some(info) => manager.add_registered(pass, info, options),
        None => manager.add(pass),
    };
}

fn read(text: &str) -> Result<Pipeline, PipelineError> {
    Pipeline::parse(text).map_err(|error| {
        let expected = error.expected.map(|what| format!("; expected {what}"));
        let message = format!("{}{}", error.message, expected.unwrap_or_default());
        PipelineError::new(message, error.span, error.hint)
    })
}

fn fill(
    manager: &mut PassManager,
    registry: &PassRegistry,
    pipeline: &Pipeline,
) -> Result<(), PipelineError> {
    for element in &pipeline.elements {
        match &element.body {
            Body::Nested(inner) => {
                if registry.get(&element.name).is_some() {
                    return Err(PipelineError::new(
                        format!("'{}' is a pass; it has no pipeline inside", element.name),
                        element.name_span,
                        Some(format!("options are written {}{{key=value}}", element.name)),
                    ));
                }
                let mut nested = PassManager::new(element.name.clone());
                fill(&mut nested, registry, inner)?;
                manager.nest(nested);
            }
            Body::Pass(options) => {
                let pass = build(registry, element, options)?;
                check_anchor(manager.anchor(), registry.get(&element.name), element)?;
                add(manager, registry, &element.name, pass, given(options));
            }
        }
    }
    Ok(())
}

fn check_anchor(
    here: &str,
    info: Option<&PassInfo>,
    element: &Element,
) -> Result<(), PipelineError> {
    let Some(anchor) = info.and_then(|info| info.anchor).filter(|anchor| *anchor != here) else {
        return Ok(());
    };
    let name = &element.name;
    let hint = if anchor == "builtin.module" {
        format!("move '{name}' out of '{here}(...)'")
    } else {
        format!("write {anchor}({name})")
    };
    Err(PipelineError::new(
        format!("pass '{name}' runs on '{anchor}', not on '{here}'"),
        element.name_span,
        Some(hint),
    ))
}

/// Makes a pass; an error points at the name, the option or the value it is about.
fn build(
    registry: &PassRegistry,
    element: &Element,
    options: &[PassOption],
) -> Result<Box<dyn Pass>, PipelineError> {
    let name = &element.name;
    let Some(info) = registry.get(name) else {
        let known = registry.iter().map(|info| info.name);
        return Err(if name.contains('.') {
            PipelineError::new(
                format!("'{name}' is an operation; a pipeline for it is missing"),
                element.name_span,
                Some(format!("write {name}(...)")),
            )
        } else {
            let hint = match did_you_mean(name, known) {
                Some(close) => format!("did you mean '{close}'?"),
                None => "--list-passes shows all".to_owned(),
            };
            PipelineError::new(format!("unknown pass '{name}'"), element.name_span, Some(hint))
        });
    };
    for option in options {
        if info.options.iter().all(|declared| declared.name != option.key) {
            let names = || info.options.iter().map(|declared| declared.name);
            let hint = match did_you_mean(&option.key, names()) {
                Some(close) => format!("did you mean '{close}'?"),
                None if info.options.is_empty() => "it takes no options".to_owned(),
                None => format!("it has: {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(PipelineError::new(
                format!("pass '{name}' has no option '{}'", option.key),
                option.key_span,
                Some(hint),
            ));
        }
    }
    registry.build(name, &given(options)).map_err(|message| {
        let culprit = options.iter().find(|o| message.contains(&format!("'{}'", o.key)));
        let span = culprit.map_or(element.span, |option| option.value_span);
        PipelineError::new(message, span, None)
    })
}

fn given(options: &[PassOption]) -> GivenOptions {
    options.iter().map(|option| (option.key.clone(), option.value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use piper_ir::pass::{OptionDef, PassInfo, PassRegistry, PassResult};

    use super::{pass_list, pass_manager};

    fn registry() -> PassRegistry {
        fn nothing(_: &mut piper_ir::pass::PassContext<'_, '_>) -> PassResult {
            Ok(())
        }
        let mut registry = PassRegistry::default();
        let into = OptionDef { name: "into", summary: "how many", default: Some("2") };
        registry.register([
            PassInfo::with_options("split", "", vec![into], |options| {
                options.get::<usize>("into")?;
                Ok(nothing)
            }),
            PassInfo::from_fn("canonicalize", "", nothing).anchored(None),
            PassInfo::from_fn("in-func", "", nothing).anchored(Some("func.func")),
        ]);
        registry
    }

    #[test]
    fn text_and_pass_manager_say_the_same() {
        for (text, built) in [
            ("split", "builtin.module(split)"),
            ("split{into=4},canonicalize", "builtin.module(split{into=4},canonicalize)"),
            (
                "builtin.module( split , func.func(in-func) )",
                "builtin.module(split,func.func(in-func))",
            ),
            ("func.func(canonicalize)", "builtin.module(func.func(canonicalize))"),
            ("", "builtin.module()"),
        ] {
            let manager = pass_manager(&registry(), text).expect(text);
            assert_eq!(format!("{manager:?}"), built);
        }
    }

    #[test]
    fn errors_point_at_their_part_of_the_text() {
        for (text, part, message) in [
            (
                "split,canonicalise",
                "canonicalise",
                "unknown pass 'canonicalise'; did you mean 'canonicalize'?",
            ),
            ("split{ino=4}", "ino", "pass 'split' has no option 'ino'; did you mean 'into'?"),
            (
                "split{into=four}",
                "four",
                "option 'into' of pass 'split' takes a whole number in range, not 'four'",
            ),
            ("canonicalize{a}", "a}", "pass 'canonicalize' has no option 'a'; it takes no options"),
            (
                "func.func(split)",
                "split)",
                "pass 'split' runs on 'builtin.module', not on 'func.func'; move 'split' out of 'func.func(...)'",
            ),
            (
                "in-func",
                "in-func",
                "pass 'in-func' runs on 'func.func', not on 'builtin.module'; write func.func(in-func)",
            ),
            (
                "func.func",
                "func.func",
                "'func.func' is an operation; a pipeline for it is missing; write func.func(...)",
            ),
            (
                "split(canonicalize)",
                "split(",
                "'split' is a pass; it has no pipeline inside; options are written split{key=value}",
            ),
        ] {
            let error = pass_manager(&registry(), text).expect_err(text);
            assert_eq!(error.to_string(), message);
            assert!(text[error.span.start..].starts_with(part), "{text}: {:?}", error.span);
        }
        let error = pass_list(&registry(), "func.func(split)").expect_err("nested");
        assert!(error.to_string().contains("--pass-pipeline"));
    }
}
