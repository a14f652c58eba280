import { expect, test } from 'vitest';
import { imageReference, requireJoinable } from './reference.ts';

const place = { subscription: 's', group: 'g', gallery: 'imago' };

test('the reference for Cluster API names the gallery of a subscription, and the exact version', () => {
  expect(imageReference('capz', place, { image: 'node', version: '1.36.0' }).text).toBe(
    'image:\n  computeGallery:\n    gallery: imago\n    name: node\n    version: "1.36.0"\n    subscriptionID: s\n    resourceGroup: "g"',
  );
});

test('an image without kubeadm or cloud-init is refused for Cluster API', () => {
  expect(() => requireJoinable('node:1.0.0', ['kubeadm', 'kubelet', 'cloud-init', 'bash'])).not.toThrow();
  expect(() => requireJoinable('node:1.0.0', ['kubelet'])).toThrow('it has no kubeadm and no cloud-init');
});
