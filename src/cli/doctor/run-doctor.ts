import type { Context, Settings } from '../command.ts'
import { diagnose } from '../commands/doctor.ts'
import type { Output } from '../output.ts'
import { createRecorder } from './recorder.ts'
import { bySeverity, type DoctorObserver, type Report } from './report.ts'

/** Runs doctor for a program instead of a terminal: without settings files, credentials and output. */
export async function runDoctor(url: string, signal: AbortSignal, observer?: DoctorObserver): Promise<Report> {
  const context: Context = {
    commands: [],
    settings: settingsFor(url),
    positionals: [],
    ordered: [],
    output: silentOutput,
    signal,
    onInterrupt: () => () => {},
  }
  const { report } = await diagnose(context, createRecorder(silentOutput), observer)
  return { ...report, findings: bySeverity(report.findings) }
}

function settingsFor(url: string): Settings {
  return {
    text: (name) => (name === 'agent-card' ? url : undefined),
    list: () => [],
    flag: () => false,
    duration: () => undefined,
    integer: () => undefined,
    setting: () => undefined,
    unused: [],
  }
}

const nothing = () => {}

const silentOutput: Output = {
  mode: 'json',
  isVerbose: false,
  isDebugging: false,
  isTerminal: false,
  style: (text) => text,
  field: nothing,
  print: nothing,
  write: nothing,
  document: nothing,
  line: nothing,
  note: nothing,
  detail: nothing,
  warn: nothing,
  debug: nothing,
  progress: () => nothing,
  failure: nothing,
  hide: nothing,
  redact: (text) => text,
}
