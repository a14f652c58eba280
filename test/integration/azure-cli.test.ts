// The real `az` works with the emulator: it makes, shows, changes and deletes galleries, disks, machines and sets.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningEmulator, serveEmulator } from '../../src/azure-emulator/server.ts';
import { type Az, signIn } from '../support/azure/az.ts';

const subscription = '00000000-0000-0000-0000-000000000000';
const ids = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute`;
const minutes = 60_000;
const soak = process.env.IMAGO_SOAK === '1';
let emulator: RunningEmulator;
let folder: string;
let az: Az;
let commands = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-az-'));
  emulator = await serveEmulator({ subscription, anySubscription: false, timeScale: 2_000 });
  az = await signIn(emulator, folder);
}, 20 * minutes);

afterAll(async () => {
  await emulator?.close();
  await rm(folder, { recursive: true, force: true });
  console.log(`${commands} az commands did what they should`);
});

/** Runs a command that must succeed, and compares what it prints. */
async function ok(line: string, shape?: object, ...words: readonly string[]): Promise<unknown> {
  const { exitCode, output, errors } = await az(line, ...words);
  expect(exitCode, `az ${line}\n${errors}`).toBe(0);
  if (shape !== undefined) expect(output, `az ${line}`).toMatchObject(shape);
  commands += 1;
  return output;
}

/** Runs a command that Azure refuses. */
async function refused(line: string, exitCode: number, says: RegExp): Promise<void> {
  const result = await az(line);
  expect({ line, exitCode: result.exitCode, errors: result.errors }).toMatchObject({ exitCode });
  expect(result.errors).toMatch(says);
  commands += 1;
}

test('az manages galleries, definitions and versions', { timeout: 10 * minutes }, async () => {
  await ok('group create -n rg -l westeurope', { properties: { provisioningState: 'Succeeded' } });
  await ok('sig create -g rg -r g1', { provisioningState: 'Succeeded' });
  await ok('sig update -g rg -r g1 --set description=first', { description: 'first' });
  await ok('sig show -g rg -r g1', { identifier: { uniqueName: `${subscription}-G1` } });
  await ok('sig list -g rg', [{ name: 'g1' }]);
  const definition = 'sig image-definition create -g rg -r g1 -i linux -p pub -f off -s sku';
  await ok(`${definition} --os-type linux --hyper-v-generation V2 --os-state Generalized`, {
    osState: 'Generalized',
  });
  await ok('sig image-definition show -g rg -r g1 -i linux', { hyperVGeneration: 'V2' });
  await ok('sig image-definition list -g rg -r g1', [{ name: 'linux' }]);
  await ok('disk create -g rg -n source --size-gb 4 --sku Standard_LRS', {
    diskSizeGB: 4,
    diskState: 'Unattached',
  });
  await ok('snapshot create -g rg -n shot --source source --incremental true', {
    diskSizeGB: 4,
    incremental: true,
  });
  const version = 'sig image-version create -g rg -r g1 -i linux';
  await ok(`${version} -e 1.0.0 --os-snapshot shot --target-regions westeurope=1 northeurope=2`, {
    provisioningState: 'Succeeded',
    storageProfile: { osDiskImage: { sizeInGB: 4 } },
  });
  await ok('sig image-version show -g rg -r g1 -i linux -e 1.0.0 --expand ReplicationStatus', {
    replicationStatus: {
      aggregatedState: 'Completed',
      summary: [{ state: 'Completed' }, { state: 'Completed' }],
    },
  });
  await ok(
    `${version} -e 1.1.0 --image-version ${ids}/galleries/g1/images/linux/versions/1.0.0 --exclude-from-latest true`,
    {
      publishingProfile: { excludeFromLatest: true },
    },
  );
  await ok('sig image-version list -g rg -r g1 -i linux', [{ name: '1.0.0' }, { name: '1.1.0' }]);
  await ok(
    'sig image-version update -g rg -r g1 -i linux -e 1.1.0 --set publishingProfile.excludeFromLatest=false',
    {
      publishingProfile: { excludeFromLatest: false },
    },
  );
  await ok('sig image-version delete -g rg -r g1 -i linux -e 1.1.0');
  await refused('sig image-version show -g rg -r g1 -i linux -e 1.1.0', 3, /ResourceNotFound/);
  await refused('sig delete -g rg -r g1', 1, /nested resources/);
});

test('az manages disks, snapshots and access', { timeout: 10 * minutes }, async () => {
  await ok('disk show -g rg -n source', { sku: { name: 'Standard_LRS' } });
  await ok('disk update -g rg -n source --size-gb 8', { diskSizeGB: 8 });
  await ok('disk list -g rg', [{ name: 'source' }]);
  await ok('disk create -g rg -n copy --source shot', { creationData: { createOption: 'Copy' } });
  await ok('disk grant-access -g rg -n copy --duration-in-seconds 600', {
    accessSAS: expect.stringContaining('sig='),
  });
  await ok('disk show -g rg -n copy', { diskState: 'ActiveSAS' });
  await ok('disk revoke-access -g rg -n copy');
  await ok('disk create -g rg -n upload --for-upload --upload-size-bytes 20972032', {
    diskState: 'ReadyToUpload',
  });
  await ok('snapshot show -g rg -n shot', { creationData: { sourceUniqueId: expect.any(String) } });
  await ok('snapshot list -g rg', [{ name: 'shot' }]);
  await ok('snapshot grant-access -g rg -n shot --duration-in-seconds 600', {
    accessSAS: expect.any(String),
  });
  await ok('snapshot revoke-access -g rg -n shot');
  await ok('disk delete -g rg -n copy --yes');
  await refused('disk show -g rg -n copy', 3, /ResourceNotFound/);
});

test('az makes and captures machines', { timeout: 10 * minutes }, async () => {
  const image = `${ids}/galleries/g1/images/linux/versions/1.0.0`;
  const create = 'vm create -g rg -n vm1 --admin-username imago --generate-ssh-keys --size Standard_D2s_v5';
  await ok(`${create} --image ${image}`, { powerState: 'VM running' });
  await ok('vm show -g rg -n vm1', { storageProfile: { imageReference: { exactVersion: '1.0.0' } } });
  await ok('vm get-instance-view -g rg -n vm1', {
    instanceView: { statuses: [{ code: 'ProvisioningState/succeeded' }, { code: 'PowerState/running' }] },
  });
  await ok('vm stop -g rg -n vm1');
  await ok('vm start -g rg -n vm1');
  await ok('vm deallocate -g rg -n vm1');
  await ok('vm show -d -g rg -n vm1', { powerState: 'VM deallocated' });
  await ok('vm generalize -g rg -n vm1');
  await ok('image create -g rg -n captured --source vm1 --hyper-v-generation V2', {
    provisioningState: 'Succeeded',
  });
  await ok(`sig image-version create -g rg -r g1 -i linux -e 2.0.0 --managed-image captured`, {
    name: '2.0.0',
  });
  await ok('vm list -g rg', [{ name: 'vm1' }]);
  await ok('vm delete -g rg -n vm1 --yes');
  await refused('vm show -g rg -n vm1', 3, /ResourceNotFound/);
});

test('az makes, scales, upgrades and deletes scale sets', { timeout: 15 * minutes }, async () => {
  const image = (version: string) => `${ids}/galleries/g1/images/linux/versions/${version}`;
  const create = 'vmss create -g rg --admin-username imago --generate-ssh-keys --vm-sku Standard_D2s_v5';
  await ok(
    `${create} -n set1 --image ${image('1.0.0')} --instance-count 2 --orchestration-mode Uniform --upgrade-policy-mode Manual`,
  );
  await ok('vmss show -g rg -n set1', { sku: { capacity: 2 }, orchestrationMode: 'Uniform' });
  await ok('vmss list -g rg', [{ name: 'set1' }]);
  await ok('vmss list-instances -g rg -n set1', [
    { instanceId: '0', latestModelApplied: true },
    { instanceId: '1' },
  ]);
  await ok('vmss get-instance-view -g rg -n set1', { virtualMachine: { statusesSummary: [{ count: 2 }] } });
  const model = `virtualMachineProfile.storageProfile.imageReference.id=${image('2.0.0')}`;
  await ok(`vmss update -g rg -n set1 --set ${model}`, { provisioningState: 'Succeeded' });
  await ok('vmss list-instances -g rg -n set1', [
    { latestModelApplied: false },
    { latestModelApplied: false },
  ]);
  await ok('vmss update-instances -g rg -n set1 --instance-ids 0');
  await ok('vmss list-instances -g rg -n set1', [
    { latestModelApplied: true, storageProfile: { imageReference: { exactVersion: '2.0.0' } } },
    { latestModelApplied: false, storageProfile: { imageReference: { exactVersion: '1.0.0' } } },
  ]);
  await ok('vmss update -g rg -n set1 --instance-id 1 --protect-from-scale-in true', {
    protectionPolicy: { protectFromScaleIn: true },
  });
  await ok('vmss deallocate -g rg -n set1 --instance-ids 1');
  await ok('vmss get-instance-view -g rg -n set1 --instance-id 1', {
    statuses: [{}, { code: 'PowerState/deallocated' }],
  });
  await ok('vmss start -g rg -n set1 --instance-ids 1');
  await ok('vmss reimage -g rg -n set1 --instance-ids 1');
  await ok('vmss scale -g rg -n set1 --new-capacity 3', { sku: { capacity: 3 } });
  await ok('vmss delete-instances -g rg -n set1 --instance-ids 2');
  await ok('vmss show -g rg -n set1', { sku: { capacity: 2 } });
  await ok('sig image-version delete -g rg -r g1 -i linux -e 2.0.0');
  await refused('vmss scale -g rg -n set1 --new-capacity 3', 1, /GalleryImageNotFound/);
  await ok('vmss delete -g rg -n set1');
  await ok(`${create} -n set2 --image ${image('1.0.0')} --instance-count 1 --orchestration-mode Flexible`);
  await ok('vmss show -g rg -n set2', { orchestrationMode: 'Flexible' });
  await ok('vm list -g rg', [{ virtualMachineScaleSet: { id: expect.stringContaining('set2') } }]);
});

test.skipIf(!soak)(
  '(soak) az shares, restores, evicts, extends and looks up',
  { timeout: 30 * minutes },
  async () => {
    await ok('sig create -g rg -r shared --permissions Groups', {
      sharingProfile: { permissions: 'Groups' },
    });
    const group = '11111111-2222-3333-4444-555555555555';
    await ok(`sig share add -g rg -r shared --subscription-ids ${group}`);
    await ok('sig show -g rg -r shared --sharing-groups', {
      sharingProfile: { groups: [{ type: 'Subscriptions', ids: [group] }] },
    });
    await ok('sig share reset -g rg -r shared');
    await ok('sig create -g rg -r soft --soft-delete true', {
      softDeletePolicy: { isSoftDeleteEnabled: true },
    });
    await ok('sig image-definition create -g rg -r soft -i d -p p -f o -s s --os-type Linux');
    await ok('sig image-version create -g rg -r soft -i d -e 1.0.0 --os-snapshot shot');
    await ok('sig image-version delete -g rg -r soft -i d -e 1.0.0');
    await refused('sig image-version show -g rg -r soft -i d -e 1.0.0', 3, /ResourceNotFound/);
    await refused('sig image-definition delete -g rg -r soft -i d', 1, /nested resources/);
    await ok('sig image-version undelete -g rg -r soft -i d -e 1.0.0');
    await ok('sig image-version show -g rg -r soft -i d -e 1.0.0', { name: '1.0.0' });
    const create = 'vm create -g rg --image Debian:debian-12:12:latest --admin-username imago';
    await ok(`${create} -n spot --generate-ssh-keys --priority Spot --assign-identity [system]`);
    await ok('vm show -g rg -n spot', { identity: { principalId: expect.any(String) } });
    await ok('vm extension set -g rg --vm-name spot -n CustomScript --publisher Microsoft.Azure.Extensions', {
      provisioningState: 'Succeeded',
    });
    await ok('vm extension list -g rg --vm-name spot', [{ name: 'CustomScript' }]);
    await ok('vm resize -g rg -n spot --size Standard_D4s_v5', {
      hardwareProfile: { vmSize: 'Standard_D4s_v5' },
    });
    await ok('vm simulate-eviction -g rg -n spot');
    await ok('vm show -d -g rg -n spot', { powerState: 'VM deallocated' });
    await ok('vm image list-skus -l westeurope -p Debian -f debian-12', [{ name: '12' }, {}]);
    const sizes = expect.arrayContaining([expect.objectContaining({ name: 'Standard_DS1_v2' })]);
    await ok('vm list-vm-resize-options -g rg -n spot', sizes);
    await ok('snapshot update -g rg -n shot --set tags.a=b', { tags: { a: 'b' } });
    await ok('disk update -g rg -n source --sku StandardSSD_LRS', { sku: { name: 'StandardSSD_LRS' } });
  },
);
