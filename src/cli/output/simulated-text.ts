// Shows in lists which images, versions and channels come from a simulation.

export function simulatedText({ simulated }: { readonly simulated?: true | undefined }): string | undefined {
  return simulated && 'simulated';
}
