// The model of a scale set as Azure completes it.
import { echo, isObject, type Json, listAt, part } from '../arm/json.ts';
import { shownOsProfile, withConfiguration } from './machine-body.ts';

export interface Completed {
  readonly osType: string;
  readonly sizeGB: number;
  readonly generation: string;
  readonly flexible: boolean;
}

const rollingPolicy = {
  maxBatchInstancePercent: 20,
  maxUnhealthyInstancePercent: 20,
  maxUnhealthyUpgradedInstancePercent: 20,
  pauseTimeBetweenBatches: 'PT0S',
};

export function completeProperties(given: Json, { flexible, ...image }: Completed): Json {
  const upgrade = part(given, 'upgradePolicy');
  const repairs = part(given, 'automaticRepairsPolicy');
  return {
    ...(flexible
      ? { platformFaultDomainCount: 1, constrainedMaximumCapacity: false }
      : { overprovision: true, doNotRunExtensionsOnOverprovisionedVMs: false, platformFaultDomainCount: 5 }),
    singlePlacementGroup: !flexible,
    ...echo(given),
    orchestrationMode: flexible ? 'Flexible' : 'Uniform',
    ...('virtualMachineProfile' in given ? { upgradePolicy: completePolicy(upgrade) } : {}),
    ...(repairs.enabled === true
      ? { automaticRepairsPolicy: { gracePeriod: 'PT10M', repairAction: 'Replace', ...repairs } }
      : {}),
    ...('virtualMachineProfile' in given
      ? {
          virtualMachineProfile: completeProfile(part(given, 'virtualMachineProfile'), {
            flexible,
            ...image,
          }),
        }
      : {}),
  };
}

function completePolicy(upgrade: Json): Json {
  const isRolling = 'rollingUpgradePolicy' in upgrade || /^rolling$/i.test(String(upgrade.mode));
  const rolling = { rollingUpgradePolicy: { ...rollingPolicy, ...part(upgrade, 'rollingUpgradePolicy') } };
  const asked = String(upgrade.mode ?? 'Manual');
  const mode =
    ['Manual', 'Automatic', 'Rolling'].find((one) => one.toLowerCase() === asked.toLowerCase()) ?? asked;
  return { ...upgrade, mode, ...(isRolling ? rolling : {}) };
}

function completeProfile(given: Json, { osType, sizeGB, flexible, generation }: Completed): Json {
  const storage = part(given, 'storageProfile');
  const disk = part(storage, 'osDisk');
  const events = part(given, 'scheduledEventsProfile', 'terminateNotificationProfile');
  const networks = listAt(given, 'networkProfile', 'networkInterfaceConfigurations').filter(isObject);
  return {
    ...echo(given),
    ...('osProfile' in given
      ? { osProfile: shownOsProfile(withConfiguration(part(given, 'osProfile'), osType), flexible) }
      : {}),
    storageProfile: {
      ...(generation === 'V2' ? { diskControllerType: 'SCSI' } : {}),
      ...echo(storage),
      osDisk: {
        ...{ osType, createOption: 'FromImage', caching: 'ReadWrite' },
        ...(flexible ? { deleteOption: 'Delete' } : {}),
        ...disk,
        managedDisk: { storageAccountType: 'Premium_LRS', ...part(disk, 'managedDisk') },
        diskSizeGB: disk.diskSizeGB ?? sizeGB,
      },
    },
    ...(networks.length === 0
      ? {}
      : {
          networkProfile: {
            ...part(given, 'networkProfile'),
            networkInterfaceConfigurations: networks.map((network) => completeNetwork(network, flexible)),
          },
        }),
    ...('scheduledEventsProfile' in given
      ? {
          scheduledEventsProfile:
            events.enable === false ? {} : eventsProfile(part(given, 'scheduledEventsProfile'), events),
        }
      : {}),
  };
}

function eventsProfile(profile: Json, terminate: Json): Json {
  if (Object.keys(terminate).length === 0) return profile;
  return {
    ...profile,
    terminateNotificationProfile: { notBeforeTimeout: 'PT5M', enable: true, ...terminate },
  };
}

function completeNetwork(network: Json, flexible: boolean): Json {
  const properties = part(network, 'properties');
  const more = flexible ? { auxiliaryMode: 'None', auxiliarySku: 'None', deleteOption: 'Delete' } : {};
  const lists = flexible
    ? {
        applicationSecurityGroups: [],
        loadBalancerBackendAddressPools: [],
        applicationGatewayBackendAddressPools: [],
      }
    : {};
  return {
    ...network,
    properties: {
      ...{
        primary: true,
        disableTcpStateTracking: false,
        dnsSettings: { dnsServers: [] },
        enableIPForwarding: false,
        ...more,
      },
      ...properties,
      ipConfigurations: listAt(properties, 'ipConfigurations')
        .filter(isObject)
        .map((one) => ({
          ...one,
          properties: { privateIPAddressVersion: 'IPv4', ...lists, ...part(one, 'properties') },
        })),
    },
  };
}
