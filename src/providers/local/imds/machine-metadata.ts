// What the metadata service returns to a machine. It can change while the machine runs.

export interface ImageReference {
  readonly gallery: string;
  readonly image: string;
  /** The exact version, never a channel or `latest`. */
  readonly version: string;
  readonly digest: string;
}

export interface MachineMetadata {
  /** A UUID: `vmId`. A machine that is recreated under the same name has a different one, and so does a clone. */
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
