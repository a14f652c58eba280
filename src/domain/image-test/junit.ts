// Results of checks as JUnit's XML, which every CI system reads.
import type { CheckResult } from './image-check.ts';

export function junitReport(name: string, results: readonly CheckResult[]): string {
  const places = [...new Set(results.map(({ on }) => on))];
  const suites = places.map((place) =>
    suite(
      `${name} on ${place}`,
      results.filter(({ on }) => on === place),
    ),
  );
  const total = `tests="${results.length}" failures="${count(results, 'failed')}" skipped="${count(results, 'not-run')}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${inXml(name)}" ${total}>`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function suite(name: string, results: readonly CheckResult[]): string {
  const total = `tests="${results.length}" failures="${count(results, 'failed')}" errors="0" skipped="${count(results, 'not-run')}"`;
  return [`  <testsuite name="${inXml(name)}" ${total}>`, ...results.map(testCase), '  </testsuite>'].join(
    '\n',
  );
}

function testCase({ id, title, state, detail, remedy }: CheckResult): string {
  const head = `    <testcase classname="${inXml(id)}" name="${inXml(title)}"`;
  if (state === 'passed') return `${head}/>`;
  const body =
    state === 'not-run'
      ? `<skipped message="${inXml(detail)}"/>`
      : `<failure message="${inXml(detail)}">${inXml(remedy ?? '')}</failure>`;
  return `${head}>${body}</testcase>`;
}

function count(results: readonly CheckResult[], state: CheckResult['state']): number {
  return results.filter((result) => result.state === state).length;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
};

/** XML 1.0 has no place for other control characters, not even escaped. */
function inXml(text: string): string {
  return [...text.toWellFormed()]
    .map(
      (character) => entities[character] ?? (character < ' ' && character !== '\t' ? '\u{fffd}' : character),
    )
    .join('');
}
