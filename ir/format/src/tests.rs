//! What formats are refused, and why.

use crate::{Argument, Count, Declaration, Declared, DeclaredAttr, Element, Part, Values, read};

fn declaration() -> Declaration {
    let attr = |name: &str, may_be_absent, is_unit| DeclaredAttr {
        name: name.into(),
        may_be_absent,
        is_unit,
    };
    Declaration {
        operands: vec![Declared::new("x", Count::One), Declared::new("rest", Count::Many)],
        results: vec![Declared::new("y", Count::One)],
        attrs: vec![
            attr("axis", false, false),
            attr("bias", true, false),
            attr("flag", true, true),
        ],
        regions: vec![Declared::new("body", Count::One)],
        successors: vec![],
        directives: vec!["Shape".into()],
        infers_results: false,
    }
}

/// The message and where it points.
fn refused(format: &str) -> (String, String) {
    let error = read(format, &declaration()).expect_err("refused");
    (error.message, format[error.at..].chars().take(8).collect())
}

const END: &str = " $axis $body attr-dict `:` type($y)";

#[test]
fn a_full_format_reads() {
    let format = "$x (`,` $rest^)? $axis (`flag` $flag^)? custom<Shape>($bias, ref(type($x))) $body attr-dict `:` type($y)";
    let elements = read(format, &declaration()).expect("a format");
    assert_eq!(elements[0], Element::Operand(0));
    assert!(matches!(&elements[1], Element::Group { anchor: 1, .. }));
    let arguments = vec![
        Argument { part: Part::Attr(1), is_ref: false },
        Argument { part: Part::Type(Values::Operand(0)), is_ref: true },
    ];
    assert_eq!(elements[4], Element::Custom { directive: 0, arguments });
    let both =
        "($rest^ `x`) : (`none`)? $x $axis $body attr-dict `:` functional-type(operands, results)";
    assert!(read(both, &declaration()).is_ok());
}

#[test]
fn names_that_are_not_declared() {
    assert_eq!(refused("$xx").0, "'$xx' is not declared; did you mean '$x'?");
    assert_eq!(refused("$nothing").0, "'$nothing' is not declared");
    assert_eq!(
        refused("`a` $axes"),
        ("'$axes' is not declared; did you mean '$axis'?".into(), "axes".into())
    );
    assert_eq!(refused("$y").0, "'$y' is a result, which the format writes as type($y)");
    assert_eq!(refused("type($axis)").0, "there is no operand or result 'axis'");
    assert_eq!(
        refused("custom<Shapes>($x)").0,
        "custom directive 'Shapes' is not among the operation's directives; did you mean 'Shape'?"
    );
    assert_eq!(
        refused("atr-dict"),
        ("unknown directive 'atr-dict'; did you mean 'attr-dict'?".into(), "atr-dict".into())
    );
    assert_eq!(refused("over").0, "unknown directive 'over'; literals stand in backticks");
}

#[test]
fn parts_left_out_or_written_twice() {
    assert_eq!(
        refused(&format!("$x{END}")).0,
        "the format leaves out operand 'rest': write $rest or operands"
    );
    assert_eq!(
        refused("operands $axis attr-dict `:` type($y)").0,
        "the format leaves out region 'body': write $body or regions"
    );
    assert_eq!(refused(&format!("$x `,` operands{END}")).0, "operand 'x' is written twice");
    assert_eq!(refused(&format!("operands $axis `,`{END}")).0, "attribute 'axis' is written twice");
    assert_eq!(
        refused("operands $axis $body `:` type($y)").0,
        "the format needs one attr-dict (or attr-dict-with-keyword): any operation may have further attributes"
    );
    assert_eq!(
        refused("operands $body attr-dict attr-dict").0,
        "the format has more than one attr-dict (or attr-dict-with-keyword): any operation may have further attributes"
    );
    assert!(
        refused("operands $body attr-dict")
            .0
            .starts_with("nothing gives the type of result 'y': write type($y)")
    );
    assert_eq!(
        refused(&format!("operands{END} type(results)")).0,
        "the type of result 'y' is written twice"
    );
    assert_eq!(
        refused("$rest $x $body attr-dict `:` type($y)").0,
        "a literal must stand between '$rest' and '$x': the list has no end otherwise"
    );
    let inferred = Declaration { infers_results: true, ..declaration() };
    assert!(read("operands $axis $body attr-dict", &inferred).is_ok());
}

#[test]
fn groups() {
    assert_eq!(
        refused("(`a` $bias)?").0,
        "an optional group needs an anchor '^' on one of its elements"
    );
    assert_eq!(refused("(`a` $bias^ $rest^)?").0, "a group has one anchor '^', not two");
    assert_eq!(refused("(`a` $bias^)").0, "expected '?' after an optional group, found the end");
    assert_eq!(refused("(`a` $bias^").0, "'(' is not closed");
    assert_eq!(refused("`a` )").0, "')' without '('");
    assert_eq!(refused("`a` $bias^").0, "an anchor '^' stands in an optional group: ( ... )?");
    assert_eq!(
        refused(&format!("(`a` $x^)?{END}")).0,
        "'$x' cannot be an anchor: it is always there"
    );
    assert_eq!(
        refused(&format!("(`a`^ $bias)?{END}")).0,
        "`a` cannot be an anchor: nothing says whether it is there"
    );
    assert!(
        refused(&format!("(attr-dict $bias^)?{END}"))
            .0
            .starts_with("an optional group begins with a literal")
    );
    assert_eq!(
        refused(&format!("operands $flag{END}")).0,
        "unit attribute 'flag' has no text of its own: write an optional group, (`flag` $flag^)?"
    );
    assert_eq!(refused("oilist($bias)").0, "a clause of an oilist begins with a `keyword`");
}

#[test]
fn literals() {
    assert_eq!(refused("`over").0, "'`' is not closed");
    assert_eq!(refused("`over the`").0, "`over the` is not a keyword or one punctuation mark");
    assert_eq!(refused("`]>`").0, "`]>` is not a keyword or one punctuation mark");
    assert_eq!(
        refused("qualified(operands)").0,
        "qualified(...) takes an attribute or a type(...)"
    );
    assert_eq!(refused("results").0, "'results' stands in type(results)");
    assert_eq!(
        refused("functional-type(operands)").0,
        "expected ',' between the inputs and the results, found ')'"
    );
}
