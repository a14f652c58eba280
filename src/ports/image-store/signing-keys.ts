// Keys that versions are signed with, and those of other installations that are trusted. Private parts never leave
// the daemon's machine.

export interface SigningKeyRecord {
  readonly id: string;
  /** PEM, for `cosign verify --key`. */
  readonly publicKey: string;
  /** Whose it is, if not this installation's: it signs nothing here. */
  readonly owner?: string | undefined;
  readonly validFrom: string;
  /** Signs nothing new since then. */
  readonly validUntil?: string | undefined;
  /** Why its signatures are no longer valid. */
  readonly revoked?: string | undefined;
  /** Whether it is the one that signs now. */
  readonly signs: boolean;
}

/** A key of another installation, with what is known of its time. */
export interface ForeignKey {
  /** PEM. */
  readonly publicKey: string;
  readonly owner: string;
  /** When it began and ceased to sign, where that is known; else all that it ever signed counts. */
  readonly validFrom?: string | undefined;
  readonly validUntil?: string | undefined;
  /** Why its owner declared that its signatures are no longer valid. */
  readonly revoked?: string | undefined;
}

export interface TrustOptions {
  /** Looks and refuses as ever, and writes nothing. */
  readonly dryRun?: boolean;
}

export interface SigningKeys {
  /** Oldest first. */
  list(): Promise<readonly SigningKeyRecord[]>;
  /** Makes a key that signs from now on; the ones before it sign nothing new. Each call makes another. */
  create(): Promise<SigningKeyRecord>;
  /** Invalidates all signatures of the key. `key-not-found` for an unknown one; again changes nothing. */
  revoke(id: string, reason: string): Promise<SigningKeyRecord>;
  /**
   * Accepts signatures of this key of another installation. The same again adopts what is newly known of it.
   * `key-invalid` for what is not a public key, `key-own` for one's own, `key-revoked` for one that was revoked here.
   */
  trust(key: ForeignKey, options?: TrustOptions): Promise<SigningKeyRecord>;
  /**
   * Signatures of this key of another installation are no longer valid; it can be trusted again. Returns what
   * was known of it. `key-not-found`, `key-own`, or `key-revoked`: a revoked one stays known.
   */
  forget(id: string, options?: TrustOptions): Promise<SigningKeyRecord>;
}
