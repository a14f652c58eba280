// Keys that versions are signed with. Private parts never leave the daemon's machine.

export interface SigningKeyRecord {
  readonly id: string;
  /** PEM, for `cosign verify --key`. */
  readonly publicKey: string;
  readonly validFrom: string;
  /** Signs nothing new since then. */
  readonly validUntil?: string | undefined;
  /** Why nothing that it signed counts any more. */
  readonly revoked?: string | undefined;
  /** Whether it is the one that signs now. */
  readonly signs: boolean;
}

export interface SigningKeys {
  /** Oldest first. */
  list(): Promise<readonly SigningKeyRecord[]>;
  /** Makes a key that signs from now on; the ones before it sign nothing new. Each call makes another. */
  create(): Promise<SigningKeyRecord>;
  /** Nothing that the key signed counts any more. `key-not-found` for an unknown one; again changes nothing. */
  revoke(id: string, reason: string): Promise<SigningKeyRecord>;
}
