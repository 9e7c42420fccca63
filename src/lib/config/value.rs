//! Types of configuration values: text ↔ value, and which values a key allows. Must never know a key by name.

use std::fmt;

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`, in any case.
    Boolean,
    /// Any text (Kafka's STRING).
    Text,
    /// 32 bits.
    Int,
    /// 16 bits.
    Short,
    /// 64 bits.
    Long,
    /// A decimal fraction.
    Double,
    /// Texts between commas.
    List,
    /// The name of a Java class.
    Class,
    /// A secret.
    Password,
}

impl Kind {
    /// Kafka's name of the type, as its own messages say it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "BOOLEAN",
            Kind::Text => "STRING",
            Kind::Int => "INT",
            Kind::Short => "SHORT",
            Kind::Long => "LONG",
            Kind::Double => "DOUBLE",
            Kind::List => "LIST",
            Kind::Class => "CLASS",
            Kind::Password => "PASSWORD",
        }
    }

    /// Reads a value; spaces around it do not count.
    pub(super) fn parse(self, text: &str) -> Option<Value> {
        let text = text.trim();
        let number = |min: i64, max: i64| text.parse().ok().filter(|n| min <= *n && *n <= max).map(Value::Number);
        match self {
            Kind::Boolean if text.eq_ignore_ascii_case("true") => Some(Value::Boolean(true)),
            Kind::Boolean if text.eq_ignore_ascii_case("false") => Some(Value::Boolean(false)),
            Kind::Boolean => None,
            Kind::Int => number(i32::MIN.into(), i32::MAX.into()),
            Kind::Short => number(i16::MIN.into(), i16::MAX.into()),
            Kind::Long => number(i64::MIN, i64::MAX),
            Kind::Double => text.parse().ok().filter(|n: &f64| n.is_finite()).map(|n| Value::Fraction(n, text.to_owned())),
            Kind::List if text.is_empty() => Some(Value::List(Vec::new())),
            Kind::List => Some(Value::List(text.split(',').map(|item| item.trim().to_owned()).collect())),
            Kind::Text | Kind::Class | Kind::Password => Some(Value::Text(text.to_owned())),
        }
    }
}

/// A value of its key's type. Shown, it is in the form that Kafka's tools show.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a boolean key.
    Boolean(bool),
    /// Of an int, short or long key.
    Number(i64),
    /// Of a double key, and as it was written.
    Fraction(f64, String),
    /// Of a string, class or password key.
    Text(String),
    /// Of a list key.
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Boolean(value) => value.fmt(f),
            Value::Number(value) => value.fmt(f),
            Value::Fraction(_, written) => f.write_str(written),
            Value::Text(value) => f.write_str(value),
            Value::List(items) => f.write_str(&items.join(",")),
        }
    }
}

/// Which values of its type a key allows.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Every one.
    Any,
    /// Numbers from here on.
    AtLeast(i64),
    /// Numbers from the first to the last.
    Between(i64, i64),
    /// A compression level: a range, and perhaps one number that leaves the choice open.
    Level {
        /// The first level.
        from: i64,
        /// The last level.
        to: i64,
        /// The number for "you choose".
        or: Option<i64>,
    },
    /// From 0 to 1.
    Fraction,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A list of these texts.
    Each(&'static [&'static str]),
    /// `*`, or a list of `partition:broker`.
    Throttled,
    /// Nothing but `false`: klog has not what the key switches on.
    OnlyFalse,
}

impl Rule {
    /// Whether the value keeps to the rule; if not, what is allowed, in words that follow the value.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        let allowed = |ok: bool, what: String| if ok { Ok(()) } else { Err(what) };
        match (self, value) {
            (Rule::Any, _) => Ok(()),
            (Rule::AtLeast(min), Value::Number(n)) => allowed(min <= n, format!("Value must be at least {min}")),
            (Rule::Between(min, max), Value::Number(n)) => {
                allowed(min <= n, format!("Value must be at least {min}"))?;
                allowed(n <= max, format!("Value must be no more than {max}"))
            }
            (Rule::Level { from, to, or }, Value::Number(n)) => {
                let or_text = or.map_or(String::new(), |n| format!(" or equal to {n}"));
                allowed((from <= n && n <= to) || Some(*n) == *or, format!("Value must be between {from} and {to}{or_text}"))
            }
            (Rule::Fraction, Value::Fraction(n, _)) => {
                allowed(0.0 <= *n, "Value must be at least 0".to_owned())?;
                allowed(*n <= 1.0, "Value must be no more than 1".to_owned())
            }
            (Rule::OneOf(texts), Value::Text(text)) => {
                allowed(texts.contains(&text.as_str()), format!("String must be one of: {}", texts.join(", ")))
            }
            (Rule::Each(texts), Value::List(items)) => {
                let odd = items.iter().find(|item| !texts.contains(&item.as_str()));
                allowed(odd.is_none(), format!("String must be one of: {}", texts.join(", ")))
            }
            (Rule::Throttled, Value::List(items)) => {
                let all = items.iter().all(|item| is_replica(item)) || matches!(&items[..], [only] if only == "*");
                allowed(all, "Value must be '*' or a list of partition:broker pairs".to_owned())
            }
            (Rule::OnlyFalse, Value::Boolean(on)) => allowed(!on, "Value must be false: klog has no tiered storage".to_owned()),
            (rule, value) => unreachable!("the table gives {rule:?} to a key whose values are like {value:?}"),
        }
    }
}

fn is_replica(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once(':').is_some_and(|(partition, broker)| digits(partition) && digits(broker))
}
