// The regions of the public cloud and the names that people read.

const displayNames = [
  'East US, East US 2, Central US, North Central US, South Central US, West Central US, West US, West US 2, West US 3',
  'Canada Central, Canada East, Brazil South, Mexico Central, North Europe, West Europe, UK South, UK West',
  'France Central, Germany West Central, Italy North, Norway East, Poland Central, Spain Central, Sweden Central',
  'Switzerland North, Australia East, Australia Southeast, East Asia, Southeast Asia, Central India, South India',
  'Japan East, Japan West, Korea Central, Korea South, South Africa North, UAE North, Israel Central, Qatar Central',
  'Central US EUAP, East US 2 EUAP',
]
  .join(', ')
  .split(', ');

/** Names that people read, by the names that programs use. */
export const regionNames: ReadonlyMap<string, string> = new Map(
  displayNames.map((name) => [name.toLowerCase().replaceAll(' ', ''), name]),
);
