import { type ConsoleRelay, type ConsoleRelayOptions, createConsoleRelay } from '../operator/relay.ts'
import { createConsoleFiles } from './console-files.ts'

/** The console for agents of other servers, with the files of the built application. */
export function openConsoleRelay(options: Omit<ConsoleRelayOptions, 'files'>): ConsoleRelay {
  return createConsoleRelay({ ...options, files: createConsoleFiles() })
}
