import { expect, test } from 'vitest';
import { checkLinks, spelled } from './request-body.ts';

test('values of lists are echoed in the spelling of Azure, whatever the client wrote', () => {
  const body = {
    sku: { name: 'standard_zrs' },
    tags: { osType: 'linux' },
    properties: {
      osType: 'linux',
      hyperVGeneration: 'v2',
      publishingProfile: { targetRegions: [{ name: 'premium_lrs', storageAccountType: 'PREMIUM_LRS' }] },
      upgradePolicy: { mode: 'rolling' },
      osState: 'Frozen',
    },
  };
  expect(spelled(body)).toEqual({
    sku: { name: 'Standard_ZRS' },
    tags: { osType: 'linux' },
    properties: {
      osType: 'Linux',
      hyperVGeneration: 'V2',
      publishingProfile: { targetRegions: [{ name: 'premium_lrs', storageAccountType: 'Premium_LRS' }] },
      upgradePolicy: { mode: 'Rolling' },
      osState: 'Frozen',
    },
  });
});

test('an id that is not whole is refused with its path, as recorded', () => {
  const wireServer = { inVMAccessControlProfileReferenceId: 'profileid' };
  const properties = { securityProfile: { proxyAgentSettings: { wireServer } } };
  expect(() => checkLinks(properties, 'properties')).toThrow(
    "Property id 'profileid' at path 'properties.securityProfile.proxyAgentSettings.wireServer.inVMAccessControlProfileReferenceId' is invalid. Expect fully qualified resource Id that start with '/subscriptions/{subscriptionId}' or '/providers/{resourceProviderNamespace}/'.",
  );
  const whole = { networkProfile: { networkInterfaces: [{ id: '/subscriptions/s/x' }] }, vmId: 'any' };
  expect(() => checkLinks(whole, 'properties')).not.toThrow();
  expect(() => checkLinks({ settings: { id: 'mine' } }, 'properties')).not.toThrow();
});
