// The results of the gates as a channel's log stores them.

/** What one gate says, with its value. */
export interface GateResult {
  /** A plain name, since records outlive gates. */
  readonly gate: string;
  readonly passed: boolean;
  /** What is asked for. */
  readonly needs: string;
  /** What was found. */
  readonly value: string;
  /** The evidence that it was decided on. */
  readonly evidence?: readonly number[];
  /** When time alone opens it. */
  readonly opensAt?: string;
  /** It opens when people say so. */
  readonly waitsForPeople?: true;
  /** It was closed, and an admin moved the channel nevertheless. */
  readonly overridden?: true;
}

/** An admin's word that moves a channel through closed gates. Stays visible for ever. */
export interface Override {
  readonly gates: readonly string[];
  readonly reason: string;
}

/** What all gates said, and what they were decided on: enough to see that nothing changed until the move. */
export interface PolicyResult {
  readonly passed: boolean;
  readonly gates: readonly GateResult[];
  /** Of the policy that was in force; absent when there was none. */
  readonly policy?: { readonly id: number; readonly digest: string };
  readonly override?: Override & { readonly by: string };
  /** The composed version that was tested. */
  readonly composed?: string;
  /** The newest evidence of the digest that was looked at. */
  readonly evidenceSeen: number;
  readonly at: string;
}
