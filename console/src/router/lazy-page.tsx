import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ErrorState, LoadingState } from '../components/states.tsx'

/** A page whose code is loaded when it is shown. After an update of the server, the old code may be gone. */
export function lazyPage(load: () => Promise<FunctionComponent>): FunctionComponent {
  let Loaded: FunctionComponent | undefined
  return function LazyPage() {
    const [error, setError] = useState<unknown>()
    const [, setLoaded] = useState(false)
    useEffect(() => {
      if (Loaded) return
      load().then((component) => {
        Loaded = component
        setLoaded(true)
      }, setError)
    }, [])
    if (Loaded) return <Loaded />
    if (error === undefined) return <LoadingState label="Loading page" />
    const title = 'The code of this page could not be loaded'
    return <ErrorState error={error} title={title} onRetry={() => location.reload()} retryLabel="Reload" />
  }
}
