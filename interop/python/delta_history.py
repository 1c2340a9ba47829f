async def run(b):
    raise NotImplementedError
