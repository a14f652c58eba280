import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { machineTests } from './machine-tests.ts';
import { suites } from './suites.ts';

const root = resolve(import.meta.dirname, '..');
const startsMachines = /\b(openMachineHost|startMachine|startHostChild)\(/;

it('every test that starts machines runs in the suite of an ordinary user', () => {
  const tests = readdirSync(join(root, 'test/e2e')).map((name) => `test/e2e/${name}`);
  const found = tests.filter((file) => startsMachines.test(readFileSync(join(root, file), 'utf8')));
  expect(found.toSorted()).toEqual(machineTests.toSorted());
  const suite = suites.find(({ name }) => name === 'machines');
  expect(suite?.command.slice(0, 2)).toEqual(['node', 'scripts/as-ordinary-user.ts']);
});
