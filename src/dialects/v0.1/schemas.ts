import type { Json } from '../../protocol/model.ts'
import { id, maxWords } from '../limits.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { bytes, int32, timestamp } from '../proto-shape.ts'
import { boolean, json, list, type Shape, string, struct, type TypeOf } from '../shape.ts'
import { tagged, word } from '../tagged-shape.ts'
import { Violation, wrongType } from '../violation.ts'
import { State } from './states.ts'

/** The objects of A2A 0.1. Members that need not be there may also be `null`. */

export const metadata = optional(struct())
export const words = list(string({ min: 1 }), { max: maxWords })

const FileContent = object({
  name: optional(string()),
  mimeType: optional(string()),
  bytes: optional(bytes()),
  uri: implicit(string({ min: 1 })),
})

/** It may also be just named. */
const File: typeof FileContent = {
  read(value) {
    const file = FileContent.read(value)
    if (file.bytes !== undefined && file.uri !== undefined) throw new Violation('expected bytes or uri, got both')
    return file
  },
  form: { is: 'exclusive', of: FileContent, names: ['bytes', 'uri'] },
}

/** Objects; the text of 0.1 also has lists. */
const Data: Shape<Json> = {
  read(value) {
    if (typeof value !== 'object' || value === null) throw wrongType('an object or a list', value)
    return value as Json
  },
  form: { is: 'any', of: [struct(), list(json())] },
}

export const Part = tagged('type', {
  text: object({ text: string(), metadata }),
  file: object({ file: File, metadata }),
  data: object({ data: Data, metadata }),
})
export type Part = TypeOf<typeof Part>

const Message = object({ role: word('user', 'agent'), parts: list(Part), metadata })
export type Message = TypeOf<typeof Message>

const Artifact = object({
  name: optional(string()),
  description: optional(string()),
  parts: list(Part),
  index: optional(int32()),
  append: optional(boolean()),
  lastChunk: optional(boolean()),
  metadata,
})
export type Artifact = TypeOf<typeof Artifact>

const TaskStatus = object({ state: State, message: optional(Message), timestamp: optional(timestamp({ zone: 'Z' })) })
export type TaskStatus = TypeOf<typeof TaskStatus>

export const Task = object({
  id,
  sessionId: implicit(id),
  status: TaskStatus,
  artifacts: optional(list(Artifact)),
  history: optional(list(Message)),
  metadata,
})

export const StatusUpdate = object({ id, status: TaskStatus, final: optional(boolean()), metadata })

export const ArtifactUpdate = object({ id, artifact: Artifact, metadata })
