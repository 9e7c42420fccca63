#!/usr/bin/env python3
"""Edge cases of Kafka's wire: hand-made requests, and what Apache Kafka 4.3.1 answers to each.

  edge.py HOST:PORT                  run every cases_*.py beside this file, compare with expected.json
  edge.py HOST:PORT --only produce/  those whose name contains the words;  -v  also what came back, and the whole of it where it differs
  edge.py HOST:PORT --cases DIR      the cases_*.py and expected.json of another folder
  edge.py HOST:PORT --skip FILE      leave out what the file names (NAME -- WHY, a line; a NAME that ends in / is an area)
  edge.py HOST:PORT --record         write what came back as expected.json (against real Kafka only; with --only, just those)

Prints `PASS name` or `FAIL name -- expected … got …`, at last `N passed, N failed`; exit status 1 if any failed.
The broker: one node, plain text, num.partitions=2, auto-creation of topics on, group.initial.rebalance.delay.ms=0, otherwise Kafka's defaults.
Names that begin with accidents/ are what Kafka lets through without meaning to, as far as one can tell: another broker may have reasons to differ.
Where Kafka says UNKNOWN_SERVER_ERROR any other error passes too.
"""
import argparse
import importlib.util
import json
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import kit  # noqa: E402


class Failed(Exception):
    pass


def differing(want, got):
    """The two without what they agree on, where they have the same shape."""
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        pairs = {k: differing(want[k], got[k]) for k in want if not agrees(want[k], got[k])}
        return {k: p[0] for k, p in pairs.items()}, {k: p[1] for k, p in pairs.items()}
    return want, got


def agrees(want, got):
    """Equal; but where Kafka said UNKNOWN_SERVER_ERROR (an exception that nobody caught) any other error will do."""
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(agrees(want[k], got[k]) for k in want)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(agrees, want, got))
    if want == 'UNKNOWN_SERVER_ERROR':
        return got in kit.wire.ERRORS.values() and got != 'NONE'
    return want == got


def load(folder):
    for path in sorted(folder.glob('cases_*.py')):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def run(case, address):
    """The case's value, as JSON would give it back; Failed if it raised or ran past its deadline."""
    trial, box = kit.Trial(address), {}

    def body():
        try:
            box['value'] = json.loads(json.dumps(case.run(trial)))
        except BaseException as e:
            where = traceback.extract_tb(e.__traceback__)[-1]
            at = next((f.lineno for f in traceback.extract_tb(e.__traceback__) if Path(f.filename).stem.startswith('cases_')), where.lineno)
            box['error'] = f'{type(e).__name__}: {str(e)[:300]} (line {at})'
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(case.deadline)
    trial.close()
    if thread.is_alive():
        raise Failed(f'nothing within {case.deadline:g} s')
    if 'error' in box:
        raise Failed(box['error'])
    return box['value']


def skips_of(path):
    lines = path.read_text().splitlines() if path else []
    return dict(line.split(' -- ', 1) for line in lines if ' -- ' in line and not line.startswith('#'))


def tidy(address):
    """Deletes the topics of this run; what a broker answers to that is not judged here."""
    try:
        conn = kit.Conn(address)
        names = [x['Name'] for x in conn.call('Metadata', 9, dict(Topics=None))['Topics'] if x['Name'].strip('.').startswith(f'edge-{kit.RUN}-')]
        for i in range(0, len(names), 50):
            conn.call('DeleteTopics', 5, dict(TopicNames=names[i:i + 50], TimeoutMs=10000))
    except (OSError, kit.Closed, kit.Silent, kit.wire.Malformed):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('broker', metavar='HOST:PORT')
    parser.add_argument('--cases', type=Path, default=HERE, metavar='DIR')
    parser.add_argument('--only', default='', metavar='SUBSTR')
    parser.add_argument('--skip', type=Path, metavar='FILE')
    parser.add_argument('--record', action='store_true')
    parser.add_argument('--jobs', type=int, default=8, help='cases at a time (8)')
    parser.add_argument('-v', '--verbose', action='store_true')
    args = parser.parse_args()
    host, _, port = args.broker.rpartition(':')
    address = (host, int(port))
    try:
        kit.Conn(address, 5).call('ApiVersions', 0)
    except (OSError, kit.Closed, kit.Silent, kit.wire.Malformed) as e:
        print(f'no broker answers at {args.broker}: {type(e).__name__} {e}\n0 passed, 1 failed')
        return 1
    load(args.cases)
    expected_path = args.cases / 'expected.json'
    expected = json.loads(expected_path.read_text()) if expected_path.exists() else {}
    skips = skips_of(args.skip)
    chosen = []
    for c in (c for c in kit.CASES.values() if args.only in c.name):
        why = skips.get(c.name) or skips.get(c.name.split('/')[0] + '/')
        if why:
            print(f'SKIP {c.name} -- {why}')
        else:
            chosen.append(c)
    passed = failed = 0
    lock = threading.Lock()

    def judge(case):
        nonlocal passed, failed
        began = time.monotonic()
        try:
            got, problem = run(case, address), None
        except Failed as e:
            got, problem = None, str(e)
        took = time.monotonic() - began
        with lock:
            if problem is None and args.record:
                if expected.get(case.name, got) != got:
                    print(f'CHANGED {case.name} -- was {json.dumps(expected[case.name])}')
                expected[case.name] = got
            want = expected.get(case.name, 'nothing recorded')
            if problem is None and agrees(want, got):
                passed += 1
                print(f'PASS {case.name}' + (f'  [{took:.1f} s]  {json.dumps(got)}' if args.verbose else ''), flush=True)
            else:
                failed += 1
                if problem is None and not args.verbose:
                    want, got = differing(want, got)
                print(f'FAIL {case.name} -- expected {json.dumps(want)} got {problem or json.dumps(got)}', flush=True)

    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(judge, [c for c in chosen if not c.alone]))
    for case in chosen:
        if case.alone:
            judge(case)
    tidy(address)
    if args.record:
        if not args.only:
            expected = {k: v for k, v in expected.items() if k in kit.CASES}
        lines = [f'  {json.dumps(k)}: {json.dumps(v)}' for k, v in sorted(expected.items())]
        expected_path.write_text('{\n' + ',\n'.join(lines) + '\n}\n')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not chosen else 0


if __name__ == '__main__':
    sys.exit(main())
