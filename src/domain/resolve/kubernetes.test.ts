import { expect, test } from 'vitest';
import { kubernetesNotFound } from './kubernetes.ts';

test('the nearest Kubernetes versions are named by their newest builds', () => {
  const all = ['1.32.1', '1.32.1', '1.34.2', '1.34.2', '1.35.0'].map((kubernetes, index) => ({
    ...{ image: 'node', version: `1.0.${index}`, kubernetes, state: 'available' as const },
    createdAt: `2026-01-0${index + 1}T00:00:00Z`,
  }));
  expect(kubernetesNotFound('node', '1.33', all).hint).toBe(
    'The nearest that are available: 1.32.1 (`node:1.0.1`) or 1.34.2 (`node:1.0.3`).',
  );
});
