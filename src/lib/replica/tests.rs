//! Every rule as a script that anyone can read: see `tests/scripts/replica`.

use super::script;

#[test]
fn scripts() {
    script::check_all("tests/scripts/replica");
}
