//! How much memory a test takes, counted where it is allocated. Owns the test binary's allocator; each thread counts for itself,
//! so that tests beside this one don't disturb it.
#![allow(unsafe_code)] // An allocator cannot be written without; it hands everything on to the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: isize) {
    // A thread that is ending has no counters any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        PEAK.try_with(|peak| peak.set(peak.get().max(held.get())))
    });
}

// SAFETY: every call goes to `System` with the arguments as they came; counting touches two plain cells of this thread and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise is the one that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: `place` came from `System` by way of `alloc`.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        // SAFETY: `place` came from `System` by way of `alloc`, and the caller's promise is the one that `System` asks for.
        unsafe { System.realloc(place, layout, new_size) }
    }
}

/// The most bytes that `work` held at one time on this thread, beyond what was held before.
pub fn peak_of(work: impl FnOnce()) -> usize {
    let before = HELD.get();
    PEAK.set(before);
    work();
    usize::try_from(PEAK.get() - before).unwrap_or(0)
}

#[test]
fn memory_is_counted() {
    assert_eq!(peak_of(|| drop(vec![0u8; 1000])), 1000);
    assert_eq!(peak_of(|| ()), 0);
}
