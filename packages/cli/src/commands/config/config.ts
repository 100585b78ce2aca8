import type { Command } from 'commander';
import type { Perform } from '../perform.ts';
import { declareConfigGet } from './get.ts';
import { declareConfigList } from './list.ts';
import { declareConfigSet } from './set.ts';

export function declareConfig(program: Command, perform: Perform): void {
  const config = program
    .command('config')
    .description('Read and change settings. They are looked up as flag, environment, config file.');
  declareConfigGet(config, perform);
  declareConfigSet(config, perform);
  declareConfigList(config, perform);
}
