import { isObject, type JsonObject } from '../../base/json.ts'
import { withFallback } from '../codec.ts'
import type { ClientDialect, FileBytes, PeerForm, ServerFacts } from '../dialect.ts'
import { withoutSubscriptions } from '../python-agents.ts'
import { decodeCard, decodeLenientCard } from './card.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { grpc, methods, restClientBinding } from './methods.ts'
import { evidenceIn, fileBytesHeader, fileBytesKey, formOfServer, majorityForm, readFileBytes } from './peer-form.ts'
import { fromPeerForm, toPeerForm } from './translate-form.ts'

/** What the client knows about a server, and how. */
interface KnownForm extends PeerForm {
  readonly certainty: keyof typeof reasons
}

/** From the weakest to the strongest. */
const reasons = {
  majority: 'as most agents of A2A 0.3 read and write them',
  software: 'as the SDK of this web server reads and writes them',
  files: 'as the files of this agent are written',
  header: 'as this agent says in its answers',
  option: 'by the option fileBytes',
}

const fileBytesTexts: Readonly<Record<FileBytes, string>> = {
  raw: 'the bytes that the proto describes (raw)',
  base64: 'a base64 text in the place of their bytes (base64)',
}

const certainties = Object.keys(reasons)

/** The dialect for servers about which nothing is known. */
export const v0_3ProtoClient: ClientDialect = /* @__PURE__ */ createClientDialect({
  ...majorityForm,
  certainty: 'majority',
})

function createClientDialect(form: KnownForm): ClientDialect {
  const read = (wire: unknown) => fromPeerForm(wire, form)
  const dialect: ClientDialect = {
    name: 'v0.3-proto',
    version: '0.3',
    bindings: ['HTTP+JSON', 'GRPC'],
    methods,
    grpc,
    encodeRequest: {
      ...encodeRequest,
      sendMessage: (request) => toPeerForm(withDeclaration(encodeRequest.sendMessage(request), form), form),
      streamMessage: (request) => toPeerForm(withDeclaration(encodeRequest.streamMessage(request), form), form),
    },
    decodeResult: {
      ...decodeResult,
      sendMessage: (wire, request) => decodeResult.sendMessage(read(wire), request),
      getTask: (wire, request) => decodeResult.getTask(read(wire), request),
      listTasks: (wire, request) => decodeResult.listTasks(read(wire), request),
      cancelTask: (wire, request) => decodeResult.cancelTask(read(wire), request),
      getExtendedCard: withFallback(decodeCard, decodeLenientCard),
    },
    decodeEvent: (wire) => decodeEvent(read(wire)),
    decodeCard,
    decodeLenientCard,
    rest: restClientBinding,
    adaptService: withoutSubscriptions,
    servers: {
      form,
      explanation: `Files travel as ${fileBytesTexts[form.fileBytes]}, ${reasons[form.certainty]}.`,
      forServer(server) {
        const next = learnForm(form, server)
        return next === form ? dialect : createClientDialect(next)
      },
    },
  }
  return dialect
}

function learnForm(known: KnownForm, { binding, fileBytes: option, headers, wire }: ServerFacts): KnownForm {
  const evidence = evidenceIn(wire)
  // In binary messages, readers skip members that they do not know.
  const hasNewMembers = known.hasNewMembers || evidence.hasNewMembers || binding === 'GRPC'
  const software = formOfServer(softwareIn(headers))
  const options = {
    software: software.fileBytes,
    // Only bytes that are no base64 text prove something: a base64 text may be the content of a file.
    files: evidence.fileBytes === 'raw' ? evidence.fileBytes : undefined,
    header: readFileBytes(headers?.get(fileBytesHeader)),
    option,
  }
  let next: KnownForm = hasNewMembers === known.hasNewMembers ? known : { ...known, hasNewMembers }
  for (const certainty of ['software', 'files', 'header', 'option'] as const) {
    const fileBytes = options[certainty]
    const isKnown = certainties.indexOf(next.certainty) > certainties.indexOf(certainty)
    if (fileBytes === undefined || isKnown) continue
    if (fileBytes !== next.fileBytes || certainty !== next.certainty) next = { ...next, fileBytes, certainty }
  }
  return next
}

function softwareIn(headers: ServerFacts['headers']): string {
  // The encodings as grpc-js writes them; other servers write spaces, or fewer.
  const grpc = headers?.get('grpc-accept-encoding') === 'identity,deflate,gzip' ? 'grpc-node' : ''
  return `${headers?.get('server') ?? ''} ${headers?.get('x-powered-by') ?? ''} ${grpc}`
}

/** Says in the metadata of a message how its files are written: a server cannot know it for certain otherwise. */
function withDeclaration(wire: JsonObject, { fileBytes }: PeerForm): JsonObject {
  const { message } = wire
  if (!isObject(message) || evidenceIn(wire).fileBytes === undefined) return wire
  const metadata = isObject(message.metadata) ? message.metadata : {}
  return { ...wire, message: { ...message, metadata: { ...metadata, [fileBytesKey]: fileBytes } } }
}
