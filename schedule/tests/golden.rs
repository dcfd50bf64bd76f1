//! What people read: drawn tables and error messages, kept as files in `tests/golden/`.
//!
//! `BLESS=1 cargo test -p piper-schedule --test golden` writes the files anew; read the difference before keeping it.

use std::fmt::Write as _;

use piper_schedule::lower::{Fault, Lowering, Transport, lower};
use piper_schedule::table::{StageNumbers, Style, render};
use piper_schedule::text::{filter::Filter, order, pipeline::Pipeline};
use piper_schedule::{Config, Costs, generate, torch_csv};

fn golden(file: &str, found: &str) {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, found, "{file} differs; BLESS=1 rewrites it");
}

#[test]
fn every_schedule_is_drawn() {
    let configs = [
        ("gpipe", Config::new(4, 1, 4)),
        ("1f1b", Config::new(4, 1, 8)),
        ("interleaved1f1b", Config::new(2, 2, 4)),
        ("interleaved1f1b", Config::new(2, 2, 4).with_group(2).with_overlap()),
        ("looped_bfs", Config::new(2, 2, 4)),
        ("zb_h1", Config::new(4, 1, 4)),
        ("zb_h2", Config::new(4, 1, 8)),
        ("interleaved_zb", Config::new(2, 2, 4)),
        ("zbv", Config::new(3, 2, 5)),
        ("dualpipe", Config::new(4, 2, 10)),
        ("dualpipev", Config::new(2, 2, 4)),
    ];
    let mut drawn = String::new();
    for (name, config) in configs {
        let Config { ranks, stages_per_rank, microbatches, .. } = config;
        let table = generate(name, &config).unwrap();
        writeln!(drawn, "== {name} P={ranks} V={stages_per_rank} M={microbatches}").unwrap();
        drawn += &render(&table, Style::default()).unwrap();
        drawn.push('\n');
    }
    golden("tables.txt", &drawn);
}

#[test]
fn drawing_obeys_its_style() {
    let table = generate("dualpipe", &Config::new(2, 2, 4)).unwrap();
    let mut drawn = String::new();
    for (title, style) in [
        ("narrow", Style { width: 34, ..Style::default() }),
        (
            "unbounded, no stages",
            Style { width: 0, stage_numbers: StageNumbers::Never, ..Style::default() },
        ),
        (
            "narrower than a column",
            Style { width: 1, stage_numbers: StageNumbers::Never, ..Style::default() },
        ),
        ("coloured", Style { colour: true, ..Style::default() }),
    ] {
        writeln!(drawn, "== {title}").unwrap();
        drawn += &render(&table, style).unwrap().replace('\x1b', "^");
        drawn.push('\n');
    }
    golden("styles.txt", &drawn);
    let coloured = render(&table, Style { colour: true, ..Style::default() }).unwrap();
    let mut plain = coloured.clone();
    while let Some(at) = plain.find('\x1b') {
        let end = at + plain[at..].find('m').unwrap();
        plain.replace_range(at..=end, "");
    }
    let bare =
        |text: &str| text.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>();
    assert_eq!(
        bare(&plain),
        bare(&render(&table, Style::default()).unwrap()),
        "colour changes no text"
    );
}

#[test]
fn narrow_drawings_fit() {
    for width in [20, 40, 60, 80, 120] {
        let table = generate("zbv", &Config::new(4, 2, 9)).unwrap();
        let drawn = render(&table, Style { width, ..Style::default() }).unwrap();
        assert!(drawn.lines().all(|line| line.len() <= width), "{width}:\n{drawn}");
    }
}

#[test]
fn rejections_name_the_constraint() {
    let configs = [
        ("dualpipe", Config::new(4, 2, 6)),
        ("dualpipe", Config::new(4, 2, 9)),
        ("dualpipe", Config::new(3, 2, 8)),
        ("dualpipe", Config::new(4, 1, 8)),
        ("dualpipev", Config::new(4, 2, 7)),
        ("zb_h2", Config::new(4, 1, 6)),
        ("zbv", Config::new(4, 3, 8)),
        ("interleaved1f1b", Config::new(4, 2, 9)),
        ("zb-h1", Config::new(4, 1, 9)),
        ("interleaved1f1b", Config::new(4, 2, 8).with_group(5)),
        ("interleaved1f1b", Config::new(4, 2, 8).with_group(3)),
        ("1f1b", Config::new(4, 2, 8)),
        ("1f1b", Config::new(4, 1, 8).with_group(4)),
        ("gpipe", Config::new(0, 1, 8)),
        ("gpipe", Config::new(4, 1, 0)),
        ("gpipe", Config::new(4000, 1, 4_000_000)),
        ("dualpip", Config::new(4, 2, 8)),
        ("interleaved", Config::new(4, 2, 8)),
        ("chimera", Config::new(4, 2, 8)),
    ];
    let mut said = String::new();
    let mut say = |result: Result<(), piper_schedule::Rejected>| {
        let rejected = result.unwrap_err();
        writeln!(said, "{rejected}").unwrap();
        rejected.hint.iter().for_each(|hint| writeln!(said, "  = hint: {hint}").unwrap());
    };
    for (name, config) in configs {
        say(generate(name, &config).map(|_| ()));
    }
    say(Config::for_stages("dualpipe", 8, 4, 8).map(|_| ()));
    say(Config::for_stages("1f1b", 6, 4, 8).map(|_| ()));
    say(Config::for_stages("1f1b", 0, 4, 8).map(|_| ()));
    golden("rejected.txt", &said);
    assert_eq!(Config::for_stages("dualpipe", 4, 4, 8), Ok(Config::new(4, 2, 8)));
    assert_eq!(Config::for_stages("zb-v", 8, 4, 8), Ok(Config::new(4, 2, 8)));
}

/// One case: the text as written, and the message.
fn say(said: &mut String, text: &str, error: Option<String>) {
    let error = error.unwrap_or_else(|| panic!("accepted: {text}"));
    writeln!(said, "{text:?}\n{error}\n").unwrap();
}

#[test]
fn order_errors_are_located() {
    let mut said = String::new();
    for text in [
        "",
        "0F0 0f1",
        "0F0\n1F0 1G0",
        "0F0 F1 0B0",
        "0F0 0F 0B0",
        "0F0 0 0B0",
        "0F0, 0B0",
        "0F0 0F1x",
        "0F0 (0F1 | 0B0",
        "0F0 (0F1 0B0)",
        "0F0 (0F1)",
        "0F0 0F1 | 0B0",
        "0F0 0F1) 0B0",
        "0F0 ((0F1 | 0B0) | 0W0)",
        "(3F1;0B2)OVERLAP_F_B",
        "0F0 (0F1 | ) 0B0",
        "0F99999999999",
        "9999F9999 9999B9999",
        "0F0 # fine\n  1F0 1B0 2BB // wrong",
    ] {
        say(&mut said, text, order::parse(text).err().map(|error| error.to_string()));
    }
    golden("order_errors.txt", &said);
}

#[test]
fn filter_errors_are_located() {
    let mut said = String::new();
    for text in [
        "",
        "PP = 1",
        "{PP = 1",
        "{PP = 1 MB = 2}",
        "{PP}",
        "{PP = }",
        "{PP == 1}",
        "{PP : 1}",
        "{PP != 1}",
        "{1 = PP}",
        "{PP = [0, 1]}",
        "{PP = 0|}",
        "{PP = 0|*}",
        "{PP = 0, PP = 1}",
        "{PP = 0} x",
    ] {
        say(&mut said, text, Filter::parse(text).err().map(|error| error.to_string()));
    }
    golden("filter_errors.txt", &said);
}

#[test]
fn pipeline_errors_are_located() {
    let mut said = String::new();
    for text in [
        "cse,",
        ",cse",
        "cse canonicalize",
        "builtin.module(cse",
        "builtin.module(cse))",
        "builtin.module(cse,)",
        "canonicalize{max-iterations=3",
        "canonicalize{max-iterations=3,top-down=true} cse",
        "canonicalize{max-iterations=3,top-down=true}",
        "canonicalize{a=}",
        "canonicalize{a='x}",
        "canonicalize}",
        "func.func(cse){a=1}",
        "func.func{a=1}(cse)",
        "canonicalize{=3}",
        "1cse",
        "--cse",
    ] {
        say(&mut said, text, Pipeline::parse(text).err().map(|error| error.to_string()));
    }
    let deep = "a(".repeat(5000);
    let error = Pipeline::parse(&deep).unwrap_err();
    assert_eq!(error.message, "the pipeline nests deeper than 128 levels");
    golden("pipeline_errors.txt", &said);
}

#[test]
fn torch_csv_errors_are_located() {
    let mut said = String::new();
    for text in [
        "",
        "0F0,0B0\n1F0,1SEND_B0",
        "0F0,(0F1;1B0)OVERLAP",
        "0F0,(0F1)OVERLAP_F_B",
        "0F0,(0F1;1X0)OVERLAP_F_B",
        "0F0,,0Q1",
        "0UNSHRD,0F0",
    ] {
        say(&mut said, text, torch_csv::read(text).err().map(|error| error.to_string()));
    }
    golden("torch_csv_errors.txt", &said);
}

#[test]
fn broken_tables_are_explained() {
    let mut said = String::new();
    for text in [
        "0F0 0B0 0F1 0B1\n1F0 1B0 1F1 1B1\n2F0 2F1 2B0 2B1",
        "0F0 0B0 0F1 0B1\n1F0 1F1 1B0 1B1",
        "0F0 0B0 0F1\n1F0 1F1 1B0 1B1",
        "0F0 0I0 0F1 0I1 0W1\n1F0 1F1 1B0 1B1",
        "0F0 0F1 0B0 0B1 0B0\n1F0 1B0 1F1 1B1",
        "0F0 0B0 0W0",
        "0F0 0W0 0I0",
        "0F0 (0I0 | 0W0)",
        "0F0 0F1 0B0 0B1 1F1\n1F0 1B0 1B1",
    ] {
        say(
            &mut said,
            text,
            order::parse(text).unwrap().check().err().map(|error| error.to_string()),
        );
    }
    golden("broken_tables.txt", &said);
}

#[test]
fn broken_programs_are_explained() {
    let mut said = String::new();
    for text in [
        "",
        "0F0,0SND_F0",
        "0F0,0SEND_F",
        "0F0,SEND_F0",
        "0F0,0UNSHARD1",
        "0F0,{0SEND_F0;0F1}",
        "0F0,{0SEND_F0",
        "0F0,0SEND_F12345",
    ] {
        say(&mut said, text, torch_csv::read_program(text).err().map(|error| error.to_string()));
    }
    for text in [
        "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0",
        "0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0",
        "0F0,0SEND_F0,0RECV_B0,0B0,0SEND_B0\n1RECV_F0,1F0,1B0,1SEND_B0",
        "0F0,0SEND_F0,0RECV_B0,0B0,0SEND_F7\n1RECV_F0,1F0,1B0,1SEND_B0",
        "0F0,0SEND_F0,0RECV_B0,0B0,1SEND_B0\n1RECV_F0,1F0,1B0",
        "0F0,0SEND_F0,0RECV_B0,0B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0",
        "0F0,0SEND_F0,0RECV_B0,0B0\n2F0,2B0",
        "0UNSHARD,0F0,0RESHARD,0B0",
        "0UNSHARD,0UNSHARD,0F0,0B0,0RESHARD,0RESHARD",
        "0F0,0F1,0B0,0REDUCE_GRAD,0B1,0REDUCE_GRAD",
        "0F0,0B0,1UNSHARD",
        "0F0,0RECV_B0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0",
        "0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0",
        "0F0,0SEND_F0,0B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0",
        "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F1,1RECV_F0,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1",
        "0F0,0F1,{0SEND_F0;0SEND_F1},0RECV_B0,0B0,0RECV_B1,0B1\n{1RECV_F1;1RECV_F0},1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1",
    ] {
        let (program, _) = torch_csv::read_program(text).unwrap();
        let faults = program.check(Transport::Rendezvous).err();
        let lines =
            |faults: Vec<Fault>| faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n");
        say(&mut said, text, faults.map(lines));
    }
    golden("broken_programs.txt", &said);
}

/// Ranks need not hold equally many stages, and one may hold none.
#[test]
fn uneven_stages_are_accepted() {
    let text = "0F0 1F0 0F1 1F1 1B0 0B0 1B1 0B1\n2F0 2F1 2B0 2B1\n.\n3F0 3B0 3F1 3B1\n";
    let table = order::parse(text).unwrap();
    table.check().unwrap();
    assert_eq!(table.placement.stages_on(0), [0, 1]);
    assert!(table.placement.stages_on(2).is_empty() && table.ranks.len() == 4);
    let replay = table.replay(&Costs::new(1, 1, 1)).unwrap();
    assert_eq!(replay.busy, [12, 6, 0, 6]);
    assert_eq!(replay.peak_activations, [4, 2, 0, 1]);
    let program = lower(&table, &Lowering::default()).unwrap();
    assert_eq!(program.check(Transport::Rendezvous), Ok(()));
    // Stages 0 and 1 are neighbours on one rank; stages 2 and 3 are not neighbours in rank.
    let crosses = |rank: usize| program.ranks[rank].iter().filter(|op| !op.transfers().is_empty());
    assert_eq!([0, 1, 2, 3].map(|rank| crosses(rank).count()), [4, 8, 0, 4]);
    let drawn = render(&table, Style::default()).unwrap();
    assert!(drawn.lines().any(|line| line.starts_with("rank 2") && !line.contains('F')), "{drawn}");
    assert_eq!(order::print(&table), text);
    assert_eq!(torch_csv::read(&torch_csv::write(&table).unwrap()).unwrap(), table);
}

#[test]
fn filters_select() {
    let tags = |tag: &str| match tag {
        "PP" => Some("1"),
        "PASS" => Some("F"),
        _ => None,
    };
    for (filter, selects) in [
        ("{}", true),
        ("{PP = 1}", true),
        ("{PP = 1, PASS = F}", true),
        ("{PP = 1, PASS = B}", false),
        ("{PP = 0|1, PASS = *}", true),
        ("{PP = 0|2}", false),
        ("{MB = *}", false),
        ("{MB = -}", true),
        ("{PP = -}", false),
        ("{MB = -|0, PP = \"1\",}", true),
        ("{PP = -|0}", false),
        ("{PP = 01}", false),
        ("{PP = 0:2}", true),
        ("{PP = 2:9|-}", false),
        ("{PP = 0:1|1:2}", true),
        ("{PASS = 0:2}", false),
        ("{MB = 0:2}", false),
    ] {
        assert_eq!(Filter::parse(filter).unwrap().matches(tags), selects, "{filter}");
    }
    let spaced = Filter::parse(" { PP=0 | 2:04 ,MB = *,X = \"a b\", } ").unwrap();
    assert_eq!(spaced.to_string(), "{PP = 0|2:4, MB = *, X = \"a b\"}");
}

#[test]
fn pipelines_keep_names_options_and_places() {
    use piper_schedule::text::pipeline::Body;
    let text = "builtin.module( func.func(canonicalize{max-iterations=3 top-down=true}), cse )";
    let pipeline = Pipeline::parse(text).unwrap();
    assert_eq!(
        pipeline.to_string(),
        "builtin.module(func.func(canonicalize{max-iterations=3 top-down=true}),cse)"
    );
    let Body::Nested(module) = &pipeline.elements[0].body else { panic!("a nested pipeline") };
    let [function, cse] = &module.elements[..] else { panic!("two elements") };
    assert_eq!(&text[cse.span.start..cse.span.end], "cse");
    let Body::Nested(function) = &function.body else { panic!("a nested pipeline") };
    let Body::Pass(options) = &function.elements[0].body else { panic!("a pass") };
    assert_eq!(&text[options[1].key_span.start..options[1].value_span.end], "top-down=true");
    assert_eq!(options[0].value.as_deref(), Some("3"));

    let quoted = "p{a='x y' b=\"}\" c={d=1 e={f}} list=1,2,3 flag},q{},any(r)";
    let pipeline = Pipeline::parse(quoted).unwrap();
    let Body::Pass(options) = &pipeline.elements[0].body else { panic!("a pass") };
    let values: Vec<_> = options.iter().map(|option| option.value.as_deref()).collect();
    assert_eq!(values, [Some("x y"), Some("}"), Some("d=1 e={f}"), Some("1,2,3"), None]);
    assert_eq!(pipeline.to_string(), quoted.replace("q{}", "q"));
    assert!(Pipeline::parse("").unwrap().elements.is_empty());
}

#[test]
fn torch_idle_cells_are_dropped() {
    let table = torch_csv::read("0F0,,0B0\r\n,1F0,1B0\r\n").unwrap();
    assert_eq!(torch_csv::write(&table).unwrap(), "0F0,0B0\n1F0,1B0\n");
    let three = order::parse("(0F0 | 0F1 | 0F2)").unwrap();
    assert_eq!(torch_csv::write(&three).unwrap_err().to_string(), "(0F0 | 0F1 | 0F2)");
}
