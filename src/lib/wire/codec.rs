//! The primitive types of Kafka's wire and the `message!` table that makes structs, encoders and decoders of every version.
//! Owns how a value becomes bytes; must never know which message means what.
//!
//! Nothing here trusts a length: a count is checked against the bytes that are left, and what the decoded value will hold in memory
//! is charged to a budget that grows with the frame alone ([`limits::DECODE_BYTES_PER_FRAME_BYTE`]).

use bytes::Bytes;

use crate::types::{Uuid, limits};

/// A version of one message, and whether it uses the compact, tagged encoding (KIP-482).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The number in the request header.
    pub number: i16,
    /// Whether this version is a flexible one.
    pub flexible: bool,
}

/// Why bytes are not the message that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The frame ends before the value does.
    #[error("the frame ends inside a value")]
    Truncated,
    /// A length below zero where null is not allowed, or a null length where it is not.
    #[error("a length is negative, or null stands where null is not allowed")]
    BadLength,
    /// A varint of more than the bytes that its type can have.
    #[error("a varint is too long")]
    BadVarint,
    /// The decoded value would take too much memory for the frame that holds it.
    #[error("the decoded value would not fit its memory budget")]
    OverBudget,
    /// A version outside the range of this message.
    #[error("version {version} of {api} is not supported")]
    UnsupportedVersion {
        /// Kafka's name of the API.
        api: &'static str,
        /// The version asked for.
        version: i16,
    },
}

/// Reads values from one frame. Byte strings and records are shared slices of it, never copies.
#[derive(Debug)]
pub struct Reader {
    frame: Bytes,
    at: usize,
    budget: usize,
}

impl Reader {
    /// A reader at the start of `frame`.
    pub fn new(frame: Bytes) -> Self {
        let budget = limits::DECODE_BYTES_MIN + frame.len().saturating_mul(limits::DECODE_BYTES_PER_FRAME_BYTE);
        Reader { frame, at: 0, budget }
    }

    /// The whole frame, what was read of it included.
    pub fn frame(&self) -> &Bytes {
        &self.frame
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.frame.len() - self.at
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&[u8], DecodeError> {
        let end = self.at.checked_add(n).ok_or(DecodeError::Truncated)?;
        let taken = self.frame.get(self.at..end).ok_or(DecodeError::Truncated)?;
        self.at = end;
        Ok(taken)
    }

    /// The next `n` bytes as a slice that shares the frame.
    pub fn take_shared(&mut self, n: usize) -> Result<Bytes, DecodeError> {
        let start = self.at;
        self.take(n)?;
        Ok(self.frame.slice(start..self.at))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        self.take(N)?.try_into().map_err(|_| DecodeError::Truncated)
    }

    /// An unsigned varint of at most 32 bits.
    pub fn uvarint(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return u32::try_from(value).map_err(|_| DecodeError::BadVarint);
            }
        }
        Err(DecodeError::BadVarint)
    }

    /// The length of a string, byte string or array; `None` is null. `narrow` is the two-byte form of old strings.
    fn length(&mut self, v: Version, narrow: bool) -> Result<Option<usize>, DecodeError> {
        let length = if v.flexible {
            i64::from(self.uvarint()?) - 1
        } else if narrow {
            i64::from(i16::from_be_bytes(self.array()?))
        } else {
            i64::from(i32::from_be_bytes(self.array()?))
        };
        // Kafka takes any length below zero for null.
        Ok(usize::try_from(length).ok())
    }

    /// Charges what a decoded value holds in memory.
    fn charge(&mut self, bytes_len: usize) -> Result<(), DecodeError> {
        self.budget = self.budget.checked_sub(bytes_len).ok_or(DecodeError::OverBudget)?;
        Ok(())
    }

    /// Skips the fields of one tagged section but those that `known` takes: it is given each tag and a reader of that field alone.
    pub fn tagged(&mut self, mut known: impl FnMut(u32, &mut Reader) -> Result<(), DecodeError>) -> Result<(), DecodeError> {
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            let len = self.uvarint()? as usize;
            let field = self.take_shared(len)?;
            let mut inner = Reader { frame: field, at: 0, budget: self.budget };
            known(tag, &mut inner)?;
            self.budget = inner.budget;
        }
        Ok(())
    }
}

/// Bytes that an answer carries from somewhere else, such as a range of a log file: where in the written bytes they belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Position in [`Writer::bytes`] before which the foreign bytes go.
    pub at: usize,
    /// The caller's number of the foreign bytes, from [`Records::Elsewhere`].
    pub slot: u32,
    /// How many foreign bytes there are.
    pub bytes_len: usize,
}

/// Where values are written.
#[derive(Debug, Default)]
pub struct Writer {
    /// What was written so far.
    pub bytes: Vec<u8>,
    /// What belongs between those bytes, in rising order of position.
    pub gaps: Vec<Gap>,
}

impl Writer {
    /// Adds raw bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds an unsigned varint.
    pub fn put_uvarint(&mut self, mut n: u32) {
        while 0x80 <= n {
            self.bytes.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    fn put_length(&mut self, v: Version, narrow: bool, length: Option<usize>) {
        if v.flexible {
            self.put_uvarint(length.map_or(0, |n| to_u32(n) + 1));
        } else if narrow {
            let n = length.map_or(-1, |n| i16::try_from(n).expect("callers keep strings of old versions below 32 KiB"));
            self.put(&n.to_be_bytes());
        } else {
            let n = length.map_or(-1, |n| i32::try_from(n).expect("callers keep arrays and byte strings below 2 GiB"));
            self.put(&n.to_be_bytes());
        }
    }

    /// Bytes of the whole message, those elsewhere included.
    pub fn total_len(&self) -> usize {
        self.bytes.len() + self.gaps.iter().map(|gap| gap.bytes_len).sum::<usize>()
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("callers keep lengths below 4 GiB")
}

/// A value with one encoding per version.
pub trait Wire: Sized {
    /// Writes the value.
    fn put(&self, v: Version, out: &mut Writer);
    /// Reads a value.
    fn get(v: Version, input: &mut Reader) -> Result<Self, DecodeError>;
}

/// A value that may be null in some versions.
pub trait Nullable: Wire {
    /// Writes null, or the value in the form that it has where null is allowed.
    fn put_nullable(value: Option<&Self>, v: Version, out: &mut Writer);
    /// Reads null or a value.
    fn get_nullable(v: Version, input: &mut Reader) -> Result<Option<Self>, DecodeError>;
}

macro_rules! fixed {
    ($($t:ty)*) => { $(impl Wire for $t {
        fn put(&self, _: Version, out: &mut Writer) {
            out.put(&self.to_be_bytes());
        }
        fn get(_: Version, input: &mut Reader) -> Result<Self, DecodeError> {
            Ok(<$t>::from_be_bytes(input.array()?))
        }
    })* };
}
fixed!(i8 i16 i32 i64 u16 f64);

impl Wire for bool {
    fn put(&self, _: Version, out: &mut Writer) {
        out.put(&[u8::from(*self)]);
    }
    fn get(_: Version, input: &mut Reader) -> Result<Self, DecodeError> {
        let [byte] = input.array()?;
        Ok(byte != 0)
    }
}

impl Wire for Uuid {
    fn put(&self, _: Version, out: &mut Writer) {
        out.put(&self.to_bytes());
    }
    fn get(_: Version, input: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Uuid::from_bytes(input.array()?))
    }
}

/// A type whose null is a length of its own: implements [`Wire`] by way of [`Nullable`].
macro_rules! by_length {
    ([$($g:tt)*] $t:ty) => { impl<$($g)*> Wire for $t {
        fn put(&self, v: Version, out: &mut Writer) {
            Self::put_nullable(Some(self), v, out);
        }
        fn get(v: Version, input: &mut Reader) -> Result<Self, DecodeError> {
            Self::get_nullable(v, input)?.ok_or(DecodeError::BadLength)
        }
    } };
}

by_length!([] String);
impl Nullable for String {
    fn put_nullable(value: Option<&Self>, v: Version, out: &mut Writer) {
        out.put_length(v, true, value.map(String::len));
        out.put(value.map_or(&[], |text| text.as_bytes()));
    }
    fn get_nullable(v: Version, input: &mut Reader) -> Result<Option<Self>, DecodeError> {
        let Some(n) = input.length(v, true)? else { return Ok(None) };
        // Bytes that are not UTF-8 become replacement characters, as in Kafka: whoever looks the name up finds nothing.
        Ok(Some(String::from_utf8_lossy(input.take(n)?).into_owned()))
    }
}

by_length!([] Bytes);
impl Nullable for Bytes {
    fn put_nullable(value: Option<&Self>, v: Version, out: &mut Writer) {
        out.put_length(v, false, value.map(Bytes::len));
        out.put(value.map_or(&[], |bytes| bytes));
    }
    fn get_nullable(v: Version, input: &mut Reader) -> Result<Option<Self>, DecodeError> {
        let Some(n) = input.length(v, false)? else { return Ok(None) };
        input.take_shared(n).map(Some)
    }
}

by_length!([T: Wire] Vec<T>);
impl<T: Wire> Nullable for Vec<T> {
    fn put_nullable(value: Option<&Self>, v: Version, out: &mut Writer) {
        out.put_length(v, false, value.map(Vec::len));
        for item in value.into_iter().flatten() {
            item.put(v, out);
        }
    }
    fn get_nullable(v: Version, input: &mut Reader) -> Result<Option<Self>, DecodeError> {
        let Some(n) = input.length(v, false)? else { return Ok(None) };
        // Every element takes at least one byte, so a count above what is left is a lie.
        if input.left() < n {
            return Err(DecodeError::Truncated);
        }
        input.charge(n.saturating_mul(size_of::<T>()))?;
        let mut items = Vec::with_capacity(n);
        for _ in 0..n {
            items.push(T::get(v, input)?);
        }
        Ok(Some(items))
    }
}

/// Record batches inside a message: bytes at hand, or a promise of bytes that are sent from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Records {
    /// No records: the wire's null.
    #[default]
    Null,
    /// The batches themselves.
    Here(Bytes),
    /// Batches that the sender puts into the gap of that number ([`Gap`]); never decoded.
    Elsewhere {
        /// The sender's number.
        slot: u32,
        /// How many bytes will come.
        bytes_len: usize,
    },
}

impl Records {
    /// No batches, but not null.
    pub const EMPTY: Records = Records::Here(Bytes::new());

    /// The bytes at hand; none where they are null or elsewhere.
    pub fn bytes(&self) -> Option<&Bytes> {
        match self {
            Records::Here(bytes) => Some(bytes),
            Records::Null | Records::Elsewhere { .. } => None,
        }
    }
}

impl Wire for Records {
    fn put(&self, v: Version, out: &mut Writer) {
        match self {
            Records::Null => Bytes::put_nullable(None, v, out),
            Records::Here(bytes) => bytes.put(v, out),
            Records::Elsewhere { slot, bytes_len } => {
                out.put_length(v, false, Some(*bytes_len));
                out.gaps.push(Gap { at: out.bytes.len(), slot: *slot, bytes_len: *bytes_len });
            }
        }
    }
    fn get(v: Version, input: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Bytes::get_nullable(v, input)?.map_or(Records::Null, Records::Here))
    }
}

/// Declares messages: `field: Type => versions; tag N; null versions; default value`. The tag, null and default parts may be left out;
/// a field with a `null` part is an `Option`. Tags of one struct stand in rising order.
macro_rules! message {
    ($( $(#[$meta:meta])* $name:ident { $(
        $field:ident: $ty:ty => $range:expr $(; tag $tag:literal)? $(; null $null:expr)? $(; default $default:expr)?
    ),* $(,)? } )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $(pub $field: $ty),* }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: message!(@default $($default)?)),* }
            }
        }

        impl $crate::wire::codec::Wire for $name {
            #[allow(unused_variables)]
            fn put(&self, v: $crate::wire::codec::Version, out: &mut $crate::wire::codec::Writer) {
                $(message!(@put self.$field, v, out, $range, [$($tag)?], [$($null)?]);)*
                if v.flexible {
                    message!(@put_tags self, $name, v, out, $([$field, $range, $($tag)?])*);
                }
            }
            #[allow(unused_variables, unused_mut)]
            fn get(v: $crate::wire::codec::Version, input: &mut $crate::wire::codec::Reader)
                -> Result<Self, $crate::wire::codec::DecodeError> {
                let mut message = $name::default();
                $(message!(@get message.$field, v, input, $range, [$($tag)?], [$($null)?]);)*
                if v.flexible {
                    input.tagged(|tag, input| {
                        $(message!(@get_tag message.$field, v, input, tag, $range, [$($tag)?], [$($null)?]);)*
                        Ok(())
                    })?;
                }
                Ok(message)
            }
        }

        #[cfg(test)]
        impl $crate::wire::sample::Sample for $name {
            #[allow(unused_variables, unused_mut)]
            fn sample(v: $crate::wire::codec::Version, dice: &mut $crate::wire::sample::Dice) -> Self {
                let mut message = $name::default();
                $(if ($range).contains(&v.number) {
                    message.$field = message!(@sample v, dice, [$($null)?]);
                })*
                message
            }
        }

        impl $crate::wire::codec::Nullable for $name {
            fn put_nullable(value: Option<&Self>, v: $crate::wire::codec::Version, out: &mut $crate::wire::codec::Writer) {
                match value {
                    None => out.put(&[0xff]),
                    Some(value) => {
                        out.put(&[1]);
                        $crate::wire::codec::Wire::put(value, v, out);
                    }
                }
            }
            fn get_nullable(v: $crate::wire::codec::Version, input: &mut $crate::wire::codec::Reader)
                -> Result<Option<Self>, $crate::wire::codec::DecodeError> {
                match <i8 as $crate::wire::codec::Wire>::get(v, input)? {
                    -1 => Ok(None),
                    _ => <Self as $crate::wire::codec::Wire>::get(v, input).map(Some),
                }
            }
        }
    )* };

    (@default) => { Default::default() };
    (@default $default:expr) => { $default };

    // A plain field stands in its place; a tagged one comes at the end.
    (@put $value:expr, $v:ident, $out:ident, $range:expr, [], $null:tt) => {
        if ($range).contains(&$v.number) {
            message!(@put_value $value, $v, $out, $null);
        }
    };
    (@put $value:expr, $v:ident, $out:ident, $range:expr, [$tag:literal], $null:tt) => {};
    (@put_value $value:expr, $v:ident, $out:expr, []) => { $crate::wire::codec::Wire::put(&$value, $v, $out) };
    (@put_value $value:expr, $v:ident, $out:expr, [$null:expr]) => {
        $crate::wire::codec::put_option(&$value, ($null).contains(&$v.number), $v, $out)
    };
    (@get $place:expr, $v:ident, $input:ident, $range:expr, [], $null:tt) => {
        if ($range).contains(&$v.number) {
            $place = message!(@get_value $v, $input, $null);
        }
    };
    (@get $place:expr, $v:ident, $input:ident, $range:expr, [$tag:literal], $null:tt) => {};
    (@sample $v:ident, $dice:ident, []) => { $crate::wire::sample::Sample::sample($v, $dice) };
    (@sample $v:ident, $dice:ident, [$null:expr]) => {
        $crate::wire::sample::sample_option(($null).contains(&$v.number), $v, $dice)
    };
    (@get_value $v:ident, $input:ident, []) => { $crate::wire::codec::Wire::get($v, $input)? };
    (@get_value $v:ident, $input:ident, [$null:expr]) => {
        $crate::wire::codec::get_option(($null).contains(&$v.number), $v, $input)?
    };
    (@get_tag $place:expr, $v:ident, $input:ident, $number:ident, $range:expr, [], $null:tt) => {};
    (@get_tag $place:expr, $v:ident, $input:ident, $number:ident, $range:expr, [$tag:literal], $null:tt) => {
        if $number == $tag && ($range).contains(&$v.number) {
            $place = message!(@get_value $v, $input, $null);
        }
    };

    // Tagged fields: only those away from their default are written, and a message without any writes a zero.
    (@put_tags $self:ident, $name:ident, $v:ident, $out:ident, $([$field:ident, $range:expr,])*) => { $out.put_uvarint(0) };
    (@put_tags $self:ident, $name:ident, $v:ident, $out:ident, $([$field:ident, $range:expr, $($tag:literal)?])*) => {
        let default = $name::default();
        let mut fields = $crate::wire::codec::TaggedFields::default();
        $($(
            if ($range).contains(&$v.number) && $self.$field != default.$field {
                fields.add($tag, |out| $crate::wire::codec::TaggedValue::put_tagged(&$self.$field, $v, out));
            }
        )?)*
        fields.finish($out);
    };
}
pub(crate) use message;

/// A tagged field's value: written only away from its default, so a nullable one is never null.
pub trait TaggedValue {
    /// Writes the value.
    fn put_tagged(&self, v: Version, out: &mut Writer);
}
impl<T: Wire> TaggedValue for T {
    fn put_tagged(&self, v: Version, out: &mut Writer) {
        self.put(v, out);
    }
}
impl<T: Nullable> TaggedValue for Option<T> {
    fn put_tagged(&self, v: Version, out: &mut Writer) {
        T::put_nullable(self.as_ref(), v, out);
    }
}

/// Collects the tagged fields of one struct, which are written after their count.
#[derive(Default)]
pub struct TaggedFields {
    count: u32,
    written: Writer,
}

impl TaggedFields {
    /// Adds a field; tags rise.
    pub fn add(&mut self, tag: u32, value: impl FnOnce(&mut Writer)) {
        let mut body = Writer::default();
        value(&mut body);
        assert!(body.gaps.is_empty(), "no tagged field holds records");
        self.count += 1;
        self.written.put_uvarint(tag);
        self.written.put_uvarint(to_u32(body.bytes.len()));
        self.written.put(&body.bytes);
    }

    /// Writes them all.
    pub fn finish(self, out: &mut Writer) {
        out.put_uvarint(self.count);
        out.put(&self.written.bytes);
    }
}

/// Writes an optional value; where this version does not allow null, `None` is written as the type's default.
pub fn put_option<T: Nullable + Default>(value: &Option<T>, null_allowed: bool, v: Version, out: &mut Writer) {
    match (value, null_allowed) {
        (_, true) => T::put_nullable(value.as_ref(), v, out),
        (Some(value), false) => value.put(v, out),
        (None, false) => T::default().put(v, out),
    }
}

/// Reads an optional value; null is an error where this version does not allow it.
pub fn get_option<T: Nullable>(null_allowed: bool, v: Version, input: &mut Reader) -> Result<Option<T>, DecodeError> {
    if null_allowed { T::get_nullable(v, input) } else { T::get(v, input).map(Some) }
}
