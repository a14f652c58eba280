// A thread that searches one page for a pattern. It can be terminated, whatever the pattern does.
import { parentPort, workerData } from 'node:worker_threads';
import { RE2JS } from 're2js';
import type { MatchAnswer, MatchJob } from './match-page.ts';

const maxProgramSize = 5000;

function match({ pattern, page }: MatchJob): MatchAnswer {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern, RE2JS.MULTILINE);
  } catch {
    return { problem: 'The pattern is not one that RE2 supports.' };
  }
  if (compiled.programSize() > maxProgramSize) return { problem: 'The pattern repeats too much.' };
  const matcher = compiled.matcher(page);
  const found: string[] = [];
  while (matcher.find()) {
    const group = matcher.group(1);
    if (group !== null) found.push(group);
  }
  return { found };
}

parentPort?.postMessage(match(workerData as MatchJob));
