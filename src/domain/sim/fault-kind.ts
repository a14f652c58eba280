// What can go wrong on order at a call of the simulated provider.

export const faultKinds = [
  /** Answers with an error, and did nothing. */
  'fails',
  /** Answers with an error, and did what was asked. */
  'fails-but-took-effect',
  /** Answers as if done, and did nothing. A read answers that there is nothing. */
  'succeeds-but-did-nothing',
  /** Did what was asked; the caller gets `provider-no-reply`. */
  'reply-lost',
  /** Does nothing and never answers, or answers with `provider-timeout` after `ms`. */
  'hangs',
  /** Asks to come back after `ms`. */
  'throttled',
  /** Answers after `ms`, and takes `factor` times as long for what it starts. */
  'slow',
  /** Accepts, and what it starts ends `failed`; with `region`, only the copy there. */
  'fails-later',
  'dies-before',
  'dies-after',
] as const;
export type FaultKind = (typeof faultKinds)[number];
