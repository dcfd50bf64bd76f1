//! The library as an embedding program sees it: values in, values out, whatever goes wrong.

use piper::ir::{Dialect, OpDef};
use piper::sim::Machine;
use piper::{
    CompileOptions, Compiler, Executable, Failure, Kernels, Numbers, Pass, Severity, TensorValue,
};

const MLP: &str = include_str!("../../../examples/mlp.pir");

fn interpreted() -> CompileOptions {
    CompileOptions { kernels: Kernels::Interpreted, ..CompileOptions::default() }
}

fn compiled() -> Executable {
    let compiler = Compiler::new();
    let program = compiler.parse("mlp.pir", MLP).expect("the example is right");
    compiler.compile(program, &interpreted()).unwrap_or_else(|failure| panic!("{failure}"))
}

fn tokens(shift: u8) -> TensorValue {
    let token = |i: u8| i32::from(i.wrapping_mul(3).wrapping_add(shift));
    TensorValue {
        shape: vec![8, 16],
        dtype: piper::plan::DType::I32,
        bytes: (0..128).flat_map(|i| token(i).to_ne_bytes()).collect(),
    }
}

fn batch() -> Numbers {
    Numbers::from([("tokens".to_owned(), tokens(0)), ("targets".to_owned(), tokens(3))])
}

#[test]
fn what_is_wrong_with_a_text_has_its_place() {
    let text = MLP.replace("nn.gelu %z", "nn.gelo %z");
    let failure = Compiler::new().parse("wrong.pir", &text).expect_err("no such operation");
    let message = &failure.messages()[0];
    assert_eq!(message.severity, Severity::Error);
    let place = message.place.as_ref().expect("a place");
    assert_eq!((place.file.as_str(), place.column), ("wrong.pir", 12));
    assert_eq!(place.line as usize, 1 + MLP.lines().position(|l| l.contains("nn.gelu")).unwrap());
    assert!(message.rendered.contains("nn.gelo %z"), "the source line is shown: {message}");
    assert!(failure.to_string().starts_with("error: "), "{failure}");
}

#[test]
fn a_pass_is_known_to_the_compiler_that_it_was_registered_with() {
    let mut compiler = Compiler::new();
    let hello = Pass::from_fn("mine", "Says hello", |cx| {
        let loc = cx.module.op_loc(cx.op);
        cx.remark(loc, "hello");
        Ok(())
    });
    compiler.register_pass(hello).expect("a free name");
    let mut program = compiler.parse("mlp.pir", MLP).expect("right");
    let said = compiler.run(&mut program, "mine").expect("it cannot fail");
    assert_eq!((said.len(), said[0].text.as_str()), (1, "hello"));
    let failure = Compiler::new().run(&mut program, "mine").expect_err("another compiler");
    assert!(failure.to_string().contains("unknown pass 'mine'"), "{failure}");
}

#[test]
fn a_name_has_one_owner() {
    let mut compiler = Compiler::new();
    let pass = |name: &'static str, text: &'static str| Pass::from_fn(name, text, |_| Ok(()));
    compiler.register_pass(pass("mine", "The first")).expect("a free name");
    for (name, wanted) in [
        ("mine", "registers pass 'mine' twice"),
        ("cse", "host 'Rust' registers pass 'cse', which is the name of a pass of Piper itself"),
        ("no name", "registers a pass with the name 'no name'"),
    ] {
        let why = compiler.register_pass(pass(name, "The second")).expect_err(name);
        assert!(why.to_string().contains(wanted), "{why}");
    }
    let summary = |name: &str| compiler.passes().get(name).map(|pass| pass.summary.to_string());
    assert_eq!(summary("mine").as_deref(), Some("The first"));
    assert_ne!(summary("cse").as_deref(), Some("The second"));
    let nn = Dialect { name: "nn".into(), ..Dialect::default() };
    let why = compiler.register_dialect(nn).expect_err("it is Piper's");
    assert_eq!(why.messages()[0].text, "there is a dialect 'nn' already");
    let mut foreign = |name: &'static str, ops: &[&'static str]| {
        let ops = ops.iter().map(|op| OpDef::new(*op).into()).collect();
        let dialect = Dialect { name: name.into(), ops, ..Dialect::default() };
        let added = compiler.register_dialect(dialect).map(|_| ());
        added.map_err(|why| {
            let message = &why.messages()[0];
            format!("{} ({})", message.text, message.hint.as_deref().unwrap_or_default())
        })
    };
    for (name, ops, wanted) in [
        (
            "mine",
            &["mine.op", "nn.linear"][..],
            "dialect 'mine' defines the operation 'nn.linear', which is not of its own (its name begins with the dialect's: 'mine.linear')",
        ),
        (
            "mine",
            &["minelinear"],
            "dialect 'mine' defines the operation 'minelinear', which is not of its own (its name begins with the dialect's: 'mine.minelinear')",
        ),
        (
            "builtin",
            &["builtin.module"],
            "there is a dialect 'builtin' already (choose another name)",
        ),
        (
            "nn.linear",
            &[],
            "a dialect has the name 'nn.linear'; names are letters, digits, '_' and '$', and begin with a letter or '_' (such as 'mine')",
        ),
    ] {
        assert_eq!(foreign(name, ops), Err(wanted.to_owned()));
    }
    assert_eq!(foreign("mine", &["mine.linear"]), Ok(()));
    assert!(compiler.parse("mlp.pir", MLP).is_ok(), "nothing was replaced");
}

#[test]
fn a_panic_in_a_pass_is_a_failure_and_the_program_goes_on() {
    let mut compiler = Compiler::new();
    let faulty = Pass::from_fn("faulty", "Panics", |_| panic!("out of ideas"));
    compiler.register_pass(faulty).expect("a free name");
    let mut program = compiler.parse("mlp.pir", MLP).expect("right");
    let failure = compiler.run(&mut program, "canonicalize,faulty,cse").expect_err("it panics");
    assert_eq!(failure.messages()[0].text, "pass 'faulty' of host 'Rust' panicked: out of ideas");
    assert_eq!(program.plans(), [""; 0], "the half changed module is gone");
    assert!(compiler.parse("mlp.pir", MLP).is_ok());
}

#[test]
fn implied_passes_run_before_the_one_that_is_asked_for() {
    let compiler = Compiler::new();
    let mut program = compiler.parse("mlp.pir", MLP).expect("right");
    assert_eq!(program.plans(), ["train"]);
    compiler.run_with_implied(&mut program, "pipeline").expect("it leads there");
    assert!(program.text().contains("dag.graph"), "{}", program.text());
    let mut program = compiler.parse("mlp.pir", MLP).expect("right");
    let failure = compiler.run_with_implied(&mut program, "pipelin").expect_err("a slip");
    assert!(failure.to_string().contains("did you mean 'pipeline'?"), "{failure}");
}

#[test]
fn steps_on_the_callers_arrays_train() {
    let mut training = compiled().train(piper::runtime::Options::default()).expect("it loads");
    let names: Vec<&str> = training.inputs().iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["tokens", "targets"]);
    let loss = |training: &mut piper::Training| {
        training.step(&batch()).expect("a step").number("loss").expect("a loss")
    };
    let first = loss(&mut training);
    let last = (0..8).map(|_| loss(&mut training)).last().expect("eight steps");
    assert!(last < first, "{first} -> {last}");
    assert_eq!(training.steps(), 9);
    assert_eq!(training.states(), ["table", "hidden.w", "hidden.b", "head"]);
    let zeros = TensorValue { bytes: vec![0; 64 * 256 * 4], ..training.state("head").unwrap() };
    training.set_state("head", &zeros).expect("of the right shape");
    assert_eq!(training.state("head").unwrap(), zeros);
    let uniform = loss(&mut training);
    assert!((uniform - 256f64.ln()).abs() < 1e-5, "a head of zeros knows nothing: {uniform}");
}

#[test]
fn inputs_that_do_not_fit_are_refused_before_a_step() {
    let mut training = compiled().train(piper::runtime::Options::default()).expect("it loads");
    let mut refused = |change: &dyn Fn(&mut Numbers)| -> String {
        let mut inputs = batch();
        change(&mut inputs);
        training.step(&inputs).expect_err("it does not fit").messages()[0].text.clone()
    };
    let missing = refused(&|inputs| drop(inputs.remove("targets")));
    assert_eq!(missing, "no input 'targets'");
    let unknown = refused(&|inputs| drop(inputs.insert("token".into(), tokens(0))));
    assert_eq!(unknown, "the plan has no input 'token'");
    let reshaped = refused(&|inputs| {
        drop(inputs.insert("tokens".into(), TensorValue { shape: vec![128], ..tokens(0) }))
    });
    assert_eq!(
        reshaped,
        "input 'tokens' is [8, 16] of i32, but [128] of i32 in 512 bytes was given"
    );
    assert_eq!(training.steps(), 0);
}

#[test]
fn plans_are_simulated_and_go_through_a_file() {
    let executable = compiled();
    let machine = Machine::parse(
        "[device]\nflops = 1e12\nmemory_bandwidth = 1e11\n[fabrics.net]\nbandwidth = 1e10\nlatency = 1e-6\n[axes]\npp = \"net\"\n",
    );
    let outcome = executable.simulate(&machine.expect("a machine")).expect("it fits");
    assert!(outcome.makespan > 0.0);
    let alone = Machine::parse("[device]\nflops = 1e12\nmemory_bandwidth = 1e11\n").unwrap();
    assert!(executable.simulate(&alone).is_err(), "it has no axis to communicate over");

    let folder = std::env::temp_dir().join(format!("piper-facade-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("mlp.pplan");
    executable.write(&path).expect("it is written");
    let again = Executable::read(&path).expect("it is read");
    assert_eq!(again.text(), executable.text());
    assert!(again.launch_sequence().contains("launch"), "{}", again.launch_sequence());
    let failure = again.train(Default::default()).expect_err("the interpreter is not in the file");
    assert!(failure.to_string().contains("no machine code"), "{failure}");
    std::fs::write(&path, b"no plan").expect("it is written");
    let failure: Failure = Executable::read(&path).expect_err("no plan");
    assert!(!failure.to_string().is_empty());
    std::fs::remove_dir_all(&folder).expect("it is removed");
}

#[test]
fn programs_of_one_compiler_go_to_several_threads() {
    let compiler = Compiler::new();
    let text = |compiler: &Compiler| {
        let mut program = compiler.parse("mlp.pir", MLP).expect("right");
        compiler.run_with_implied(&mut program, "pipeline").expect("it leads there");
        program.text()
    };
    let alone = text(&compiler);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| text(&compiler))).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("no panic"), alone);
        }
    });
}
