// Values that survive a trip through JSON: what records, results and inputs are made of.
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };
