import { serve } from 'parley-a2a'
import { reporter } from './agent.ts'

await serve(reporter, { port: 4001, directory: '.parley/old-agent', dialects: { speak: ['v0.3'] } })
