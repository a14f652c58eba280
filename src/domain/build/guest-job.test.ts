import { expect, test } from 'vitest';
import { jobScript, readJob, readJobScript } from './guest-job.ts';

const job = { id: '1-abc', script: "echo 'it''s'\ncat <<EOF\n$HOME\nEOF", from: 7 };

test('a script reaches the machine as it is, whatever quotes and documents it has', () => {
  expect(readJobScript(jobScript(job))).toEqual(job);
  expect(readJobScript('echo hello')).toBeUndefined();
});

test('an answer has the state, both boots, and the output from where it was asked', () => {
  const text = 'imago-job done boot=b started=a exit=3 ms=1200 next=12\nline\n';
  expect(readJob(text)).toEqual({
    ...{ state: 'done', boot: 'b', startedIn: 'a', exitCode: 3, ms: 1200, next: 12, output: 'line\n' },
  });
});

test.each(['', 'sh: 1: mkdir: not found\n', 'imago-job done boot=b'])('%j is no answer', (text) => {
  expect(readJob(text)).toBeUndefined();
});
