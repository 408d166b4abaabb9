"""Do the components of both arms give the same outputs?"""
