//! Every rule as a script that anyone can read: see `tests/scripts/group`.

use super::script;

#[test]
fn scripts() {
    script::check_all("tests/scripts/group");
}
