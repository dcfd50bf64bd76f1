//! From a pipeline's text to the passes that run it.
//!
//! `piper_schedule::text::pipeline` knows the grammar, [`PassRegistry`] knows the passes; an error here says where in
//! the text it is, so that a tool can point at it.

use piper_ir::diag::did_you_mean;
use piper_ir::pass::{GivenOptions, Pass, PassInfo, PassManager, PassRegistry};
use piper_ir::{Context, Trait};
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
    pass_manager_on(registry, text, None, Some("builtin.module"))
}

/// As [`pass_manager`], for a root of another name, or, without one, of whatever name the text gives. With a context,
/// operations that pipelines are nested in are looked up: they must exist and be isolated from above.
///
/// # Errors
/// As [`pass_manager`], and for a nested pipeline that can run on nothing.
pub fn pass_manager_on(
    registry: &PassRegistry,
    text: &str,
    ctx: Option<&Context>,
    root: Option<&str>,
) -> Result<PassManager, PipelineError> {
    let pipeline = read(text)?;
    let reader = Reader { registry, ctx };
    let manager = match &pipeline.elements[..] {
        [Element { name, body: Body::Nested(inner), .. }]
            if name == ANY || root.is_none_or(|root| root == name || name == "builtin.module") =>
        {
            let element = &pipeline.elements[0];
            if name != ANY {
                reader.check_operation(element, inner)?;
            }
            let mut manager = PassManager::new(name.clone());
            reader.fill(&mut manager, inner)?;
            manager
        }
        _ => {
            let mut manager = PassManager::new(root.unwrap_or("builtin.module"));
            reader.fill(&mut manager, &pipeline)?;
            manager
        }
    };
    Ok(manager)
}

/// The anchor of a pipeline for whatever its passes can run on.
const ANY: &str = "any";

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

/// A pipeline on a root of this name that runs one pass; a pass for other operations is nested.
///
/// # Errors
/// As [`PassRegistry::build`].
pub fn single_pass(
    registry: &PassRegistry,
    request: &PassRequest,
    root: &str,
) -> Result<PassManager, String> {
    let pass = registry.build(&request.name, &request.options)?;
    let mut manager = PassManager::new(root);
    match registry.get(&request.name).and_then(|info| info.anchor.as_deref()) {
        Some(anchor) if anchor != root => {
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

/// What the names in a pipeline are looked up in.
struct Reader<'r> {
    registry: &'r PassRegistry,
    ctx: Option<&'r Context>,
}

impl Reader<'_> {
    fn fill(&self, manager: &mut PassManager, pipeline: &Pipeline) -> Result<(), PipelineError> {
        for element in &pipeline.elements {
            match &element.body {
                Body::Nested(inner) => {
                    if self.registry.get(&element.name).is_some() {
                        return Err(PipelineError::new(
                            format!("'{}' is a pass; it has no pipeline inside", element.name),
                            element.name_span,
                            Some(format!("options are written {}{{key=value}}", element.name)),
                        ));
                    }
                    if element.name != ANY {
                        self.check_operation(element, inner)?;
                    }
                    let mut nested = PassManager::new(element.name.clone());
                    self.fill(&mut nested, inner)?;
                    manager.nest(nested);
                }
                Body::Pass(options) => {
                    let pass = build(self.registry, element, options)?;
                    check_anchor(manager.anchor(), self.registry.get(&element.name), element)?;
                    add(manager, self.registry, &element.name, pass, given(options));
                }
            }
        }
        Ok(())
    }

    /// The operation that a pipeline is nested in must exist, and passes in it must have something to run on.
    fn check_operation(&self, element: &Element, inner: &Pipeline) -> Result<(), PipelineError> {
        let Some(ctx) = self.ctx else { return Ok(()) };
        let name = &element.name;
        let known = || ctx.dialects().iter().flat_map(|dialect| &dialect.ops);
        let fault = |message: String, hint: Option<String>| {
            Err(PipelineError::new(message, element.name_span, hint))
        };
        let Some(def) = known().find(|def| def.name == *name) else {
            let pass = did_you_mean(name, self.registry.iter().map(|info| &*info.name));
            let close = did_you_mean(name, known().map(|def| &*def.name).chain([ANY]));
            let hint = match (close, pass) {
                (Some(close), _) => format!("did you mean '{close}'?"),
                (None, Some(pass)) => format!("'{pass}' is a pass; it has no pipeline inside"),
                (None, None) => "--show-dialects shows all".to_owned(),
            };
            return fault(format!("unknown operation '{name}'"), Some(hint));
        };
        if def.regions.is_empty() {
            return fault(
                format!("'{name}' has no regions, so nothing can run inside it or on it"),
                None,
            );
        }
        let has_passes = inner.elements.iter().any(|e| matches!(e.body, Body::Pass(_)));
        if has_passes && !def.has(Trait::IsolatedFromAbove) {
            return fault(
                format!("a pass cannot run on '{name}', which is not isolated from above"),
                Some("run it on the operation around it".to_owned()),
            );
        }
        Ok(())
    }
}

fn check_anchor(
    here: &str,
    info: Option<&PassInfo>,
    element: &Element,
) -> Result<(), PipelineError> {
    let runs_here = |anchor: &&str| *anchor == here || here == ANY;
    let anchor = info.and_then(|info| info.anchor.as_deref());
    let Some(anchor) = anchor.filter(|anchor| !runs_here(anchor)) else {
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
        let known = registry.iter().map(|info| &*info.name);
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
    for (i, option) in options.iter().enumerate() {
        let is_list = info.lists.iter().any(|list| **list == option.key);
        if !is_list && options[..i].iter().any(|earlier| earlier.key == option.key) {
            return Err(PipelineError::new(
                format!("the option {} stands twice", option.key),
                option.key_span,
                Some("it takes one value".to_owned()),
            ));
        }
        if info.options.iter().all(|declared| declared.name != option.key) {
            let names = || info.options.iter().map(|declared| &*declared.name);
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
        // A list may be given in pieces: the one with the word that the message quotes last.
        let word = message.split('\'').rev().nth(1).unwrap_or_default();
        let names = |option: &&PassOption| message.contains(&format!("'{}'", option.key));
        let quotes = |option: &&PassOption| {
            names(option) && option.value.as_ref().is_some_and(|value| value.contains(word))
        };
        let culprit = options.iter().find(quotes).or_else(|| options.iter().find(names));
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

    use super::{pass_list, pass_manager, pass_manager_on, single_pass};

    fn registry() -> PassRegistry {
        fn nothing(_: &mut piper_ir::pass::PassContext<'_, '_>) -> PassResult {
            Ok(())
        }
        let mut registry = PassRegistry::default();
        let sizes = OptionDef::new("sizes", "of what", None);
        let into = OptionDef::new("into", "how many", Some("2"));
        registry.register([
            PassInfo::with_options("split", "", vec![into], |options| {
                options.get::<usize>("into")?;
                Ok(nothing)
            }),
            PassInfo::from_fn("canonicalize", "", nothing).anchored(None),
            PassInfo::with_options("parts", "", vec![sizes], |options| {
                options.list::<usize>("sizes")?;
                Ok(nothing)
            })
            .lists(&["sizes"]),
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
            ("parts{sizes=1,2 sizes=3}", "builtin.module(parts{sizes=1,2 sizes=3})"),
            ("any(canonicalize,in-func)", "any(canonicalize,in-func)"),
            (
                "any(canonicalize),builtin.module(split{into='3'})",
                "builtin.module(any(canonicalize),builtin.module(split{into=3}))",
            ),
        ] {
            let manager = pass_manager(&registry(), text).expect(text);
            assert_eq!(format!("{manager:?}"), built);
        }
    }

    #[test]
    fn the_root_may_be_any_operation() {
        let on = |text, root| pass_manager_on(&registry(), text, None, root).map(|m| m.text());
        assert_eq!(
            on("func.func(in-func)", Some("func.func")),
            Ok("func.func(in-func)".to_owned())
        );
        assert_eq!(on("func.func(in-func)", None), Ok("func.func(in-func)".to_owned()));
        assert_eq!(on("in-func", Some("func.func")), Ok("func.func(in-func)".to_owned()));
        let request = pass_list(&registry(), "in-func").expect("a list").remove(0);
        let single = |root| single_pass(&registry(), &request, root).map(|m| m.text());
        assert_eq!(single("func.func"), Ok("func.func(in-func)".to_owned()));
        assert_eq!(single("builtin.module"), Ok("builtin.module(func.func(in-func))".to_owned()));
    }

    #[test]
    fn operations_are_looked_up_where_a_context_is_given() {
        let ctx = piper_ir::Context::new(piper_dialects::all());
        for (text, part, message) in [
            (
                "builtin.module(func.fun(canonicalize))",
                "func.fun(",
                "unknown operation 'func.fun'; did you mean 'func.func'?",
            ),
            (
                "canonicalise(split)",
                "canonicalise(",
                "unknown operation 'canonicalise'; 'canonicalize' is a pass; it has no pipeline inside",
            ),
            ("ani(canonicalize)", "ani(", "unknown operation 'ani'; did you mean 'any'?"),
            ("x.y(split)", "x.y(", "unknown operation 'x.y'; --show-dialects shows all"),
            (
                "func.func(func.return(canonicalize))",
                "func.return(",
                "'func.return' has no regions, so nothing can run inside it or on it",
            ),
            (
                "func.func(strategy.annotate(canonicalize))",
                "strategy.annotate(",
                "a pass cannot run on 'strategy.annotate', which is not isolated from above; run it on the operation around it",
            ),
        ] {
            let error = pass_manager_on(&registry(), text, Some(&ctx), Some("builtin.module"))
                .expect_err(text);
            assert_eq!(error.to_string(), message);
            assert!(text[error.span.start..].starts_with(part), "{text}: {:?}", error.span);
        }
        let fine = "builtin.module(func.func(canonicalize),func.func(strategy.annotate(func.func(canonicalize))))";
        assert!(pass_manager_on(&registry(), fine, Some(&ctx), None).is_ok());
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
            ("split{into=4 into=5}", "into=5", "the option into stands twice; it takes one value"),
            (
                "parts{sizes=1,2 sizes=3,x}",
                "3,x",
                "option 'sizes' of pass 'parts' takes a whole number in range, not 'x'",
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
