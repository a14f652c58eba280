export { regionNames } from '../../domain/azure/regions.ts';
