// What a machine is told about itself by the metadata service. It may change while the machine runs.

export interface ImageReference {
  readonly gallery: string;
  readonly image: string;
  /** The exact version, never a channel or `latest`. */
  readonly version: string;
  readonly digest: string;
}

export interface MachineMetadata {
  /** A UUID: `vmId`. A machine made anew under the same name has another, and so has a clone. */
  readonly machineId: string;
  readonly name: string;
  readonly pool?: string;
  readonly size: string;
  readonly region: string;
  readonly image: ImageReference;
  /** base64, as a cloud delivers it; empty when there is none. */
  readonly userData: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly adminUser?: string;
  readonly publicKeys?: readonly string[];
}

/** What the platform knows of a machine from its own reports to the wire server. */
export interface PlatformHealth {
  readonly state: 'Ready' | 'NotReady';
  /** E.g. `ProvisioningFailed`; absent when ready. */
  readonly substatus?: string;
  readonly description?: string;
  readonly at: string;
}
